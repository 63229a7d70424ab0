import { createMemoryChats } from '../../src/storage/memory-chats.ts';
import { describeChatStore } from './chat-store-contract.ts';

describeChatStore('memory', createMemoryChats);
