// Bytes to lines: split at 0x0A and nowhere else, before anything is decoded, so that no character
// is cut where a chunk ends. Knows no JSON.

import { LineTooLongError } from './errors.js';

const LINE_FEED = 0x0a;

export class LineSplitter {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #size = 0;

  /** `limit` is in bytes, without the line feed. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The lines that a chunk completes, without their ends. Throws `LineTooLongError`. */
  *push(chunk: Buffer): Generator<Buffer> {
    let start = 0;
    for (let end; (end = chunk.indexOf(LINE_FEED, start)) >= 0; start = end + 1) {
      this.#keep(chunk.subarray(start, end));
      const line = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
      this.#parts = [];
      this.#size = 0;
      yield line;
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > this.#limit) throw new LineTooLongError(this.#limit);
    this.#parts.push(part);
  }
}
