import { createMemoryChats } from '../../src/registry/memory-chats.ts';
import { describeChatStore } from './chat-store-contract.ts';

describeChatStore('memory', createMemoryChats);
