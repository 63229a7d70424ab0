import { computed } from '@preact/signals';
import { key } from './key.ts';
import { login } from './login.ts';

/** Sent with each request: the key that was entered, else the token of the person who is signed in. Undefined as long as the gateway needs none. */
export const credential = computed(() => key.value ?? login.value?.token);

/** Identifies the caller. It stays the same when a token is renewed. */
export const identity = computed(() => key.value ?? login.value?.caller);
