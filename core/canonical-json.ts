/**
 * JSON with the members of every object in one order (by UTF-16 code units, as RFC 8785 has it), so
 * that the same request has the same writing, whoever serialised it. Nothing for undefined.
 */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(
          Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
        )
      : inner,
  ) ?? ''
