/** Dot and empty segments, separators and control characters, also if they are still encoded. */
const AMBIGUOUS = /[\\\p{Cc}]|\/\.{1,2}(\/|$)|\/\/|%(2e|2f|5c)/iu

/** Returns true for a path that an upstream could interpret differently. */
export const isAmbiguous = (path: string): boolean => AMBIGUOUS.test(path)
