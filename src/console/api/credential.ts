import { computed } from '@preact/signals';
import { key } from './key.ts';
import { login } from './login.ts';

/** What requests are sent with: the key that was entered, else the token of whoever is signed in; undefined while the gateway asks for none. */
export const credential = computed(() => key.value ?? login.value?.token);

/** Who that is, which stays when a token is renewed. */
export const identity = computed(() => key.value ?? login.value?.caller);
