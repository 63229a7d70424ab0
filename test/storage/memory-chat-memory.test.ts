import { createMemoryChatMemory } from '../../src/storage/memory-chat-memory.ts';
import { describeChatMemory } from './chat-memory-contract.ts';

describeChatMemory('memory', createMemoryChatMemory);
