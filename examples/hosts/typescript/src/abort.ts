// Waiting that a signal can end.

import { AbortError } from './errors.js';

/**
 * What is to be done when a signal is aborted. A signal is often that of a whole turn, with many
 * calls in it, and Node warns of more than ten listeners: so it has one of ours, the rest is here.
 */
const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/** Call back once, when the signal is aborted; the function that is returned takes that back. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let ours = callbacks.get(signal);
  if (ours === undefined) {
    const all = (ours = new Set());
    callbacks.set(signal, all);
    signal.addEventListener('abort', () => all.forEach((each) => each()), { once: true });
  }
  ours.add(callback);
  return () => ours.delete(callback);
}

/** What `promise` comes to, or an `AbortError` the moment the signal says so. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(new AbortError(signal.reason));
    const release = onAbort(signal, abort);
    promise.then(resolve, reject).finally(release);
    if (signal.aborted) abort();
  });
}
