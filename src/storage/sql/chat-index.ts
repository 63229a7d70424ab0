import type { ChatHit } from '../../core/stores/chat-store.ts';
import { queryWordsOf, wordsOf } from './chat-words.ts';
import { execute, selectAll, type Dialect, type Script, type SqlValue } from './database.ts';

/**
 * The full-text index of stored chats, by their `position`. Text is split into words here, because the tokenizers of both databases take a Chinese
 * sentence for one word. Words of the question weigh three times as much as words of the answer.
 */
export interface ChatIndex {
  add(position: number, texts: { question: string; answer: string }): Script<unknown>;
  /** Of the chats that meet a condition, which becomes part of the SQL, so it must never come from a request. */
  remove(condition: string, values: readonly SqlValue[]): Script<unknown>;
  /** The best first. None for a query without words. */
  search(query: string, range: { callerId: string; since: number; limit: number }): Script<ChatHit[]>;
}

export function chatIndexOf(dialect: Dialect): ChatIndex {
  return dialect === 'sqlite' ? sqliteIndex : postgresIndex;
}

/**
 * A lower `bm25` is a better match. `CROSS JOIN` fixes the join order: otherwise SQLite may search the index again for each chat, which takes seconds.
 * The outer query reads texts only of the chats that are returned.
 */
export const searchSql = `SELECT chats.id, chats.created, chats.question, chats.answer FROM (
    SELECT chats.position, chats.created, chats.id, bm25(chat_words, 3, 1) AS score
    FROM chat_words CROSS JOIN chats ON chats.position = chat_words.rowid
    WHERE chat_words MATCH ? AND chats.caller_id = ? AND chats.created >= ?
    ORDER BY score, chats.created DESC, chats.id DESC LIMIT ?
  ) AS best CROSS JOIN chats ON chats.position = best.position
  ORDER BY best.score, best.created DESC, best.id DESC`;

const sqliteIndex: ChatIndex = {
  add: (position, { question, answer }) =>
    execute(
      'INSERT INTO chat_words (rowid, question, answer) VALUES (?, ?, ?)',
      position,
      wordsOf(question).join(' '),
      wordsOf(answer).join(' '),
    ),
  remove: (condition, values) =>
    execute(`DELETE FROM chat_words WHERE rowid IN (SELECT position FROM chats WHERE ${condition})`, ...values),
  *search(query, { callerId, since, limit }) {
    const words = queryWordsOf(query).map(({ word, isPrefix }) => `"${word}"${isPrefix ? '*' : ''}`);
    return words.length === 0 ? [] : yield* selectAll<ChatHit>(searchSql, words.join(' OR '), callerId, since, limit);
  },
};

/** Weights of D, C, B (the answer) and A (the question). */
const rank = `ts_rank('{0, 0, 0.33, 1}', words, ?1::tsquery)`;

const postgresIndex: ChatIndex = {
  add: (position, { question, answer }) =>
    execute(
      'INSERT INTO chat_words (position, words) VALUES (?, ?::tsvector)',
      position,
      `${toLexemes(wordsOf(question), 'A')} ${toLexemes(wordsOf(answer), 'B')}`,
    ),
  remove: (condition, values) =>
    execute(`DELETE FROM chat_words WHERE position IN (SELECT position FROM chats WHERE ${condition})`, ...values),
  *search(query, { callerId, since, limit }) {
    const words = queryWordsOf(query).map(({ word, isPrefix }) => `'${word}'${isPrefix ? ':*' : ''}`);
    if (words.length === 0) return [];
    const sql = `SELECT id, created, question, answer FROM chat_words JOIN chats USING (position)
      WHERE words @@ ?1::tsquery AND caller_id = ?2 AND created >= ?3 ORDER BY ${rank} DESC, created DESC, id DESC LIMIT ?4`;
    return yield* selectAll<ChatHit>(sql, words.join(' | '), callerId, since, limit);
  },
};

/** The largest position of a lexeme, and the longest lexeme in bytes (https://www.postgresql.org/docs/current/textsearch-limitations.html). */
const maxPosition = 16_383;
const maxLexemeBytes = 2_046;

/** The text of a `tsvector`. Words have letters and digits only, so that quotes need no escapes. */
function toLexemes(words: readonly string[], weight: 'A' | 'B'): string {
  return words
    .filter((word) => Buffer.byteLength(word) <= maxLexemeBytes)
    .map((word, index) => `'${word}':${Math.min(index + 1, maxPosition)}${weight}`)
    .join(' ');
}
