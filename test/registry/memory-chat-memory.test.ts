import { createMemoryChatMemory } from '../../src/registry/memory-chat-memory.ts';
import { describeChatMemory } from './chat-memory-contract.ts';

describeChatMemory('memory', createMemoryChatMemory);
