import { distance } from 'fastest-levenshtein'

/** Prefixes of the platform's variables; other programs do not use them. */
const PREFIX = /^(?:HUB|X402|DATABASE)_/
/** Names shorter than this allow one edit instead of two. */
const SHORT_NAME = 6

/**
 * Returns a warning if `PORT` is set, which many hosting platforms set for the program to listen
 * on, and neither `HUB_PORT` nor a passed socket says where to listen.
 */
export const findIgnoredPort = ({
  PORT,
  HUB_PORT,
  LISTEN_FDS,
}: NodeJS.ProcessEnv): readonly string[] =>
  PORT && !HUB_PORT && !LISTEN_FDS
    ? ['PORT is ignored: set HUB_PORT to the port to listen on, or to 8402.']
    : []

/**
 * Returns a warning for each unknown variable whose name is one or two edits away from a known one.
 * Other unknown names are ignored: they may belong to the command line, a plugin or a cluster.
 * @param known names that the platform reads
 */
export const findMisspelledVariables = (
  env: NodeJS.ProcessEnv,
  known: readonly string[],
): readonly string[] =>
  Object.keys(env)
    .filter((name) => PREFIX.test(name) && !known.includes(name))
    .flatMap((name) => {
      const [meant] = known
        .map((each) => ({
          each,
          edits: countEdits(withoutHubPrefix(name), withoutHubPrefix(each)),
        }))
        .filter(({ each, edits }) => edits <= (withoutHubPrefix(each).length < SHORT_NAME ? 1 : 2))
        .sort((a, b) => a.edits - b.edits)
      return meant ? [`${name} is ignored: did you mean ${meant.each}?`] : []
    })

/** Drops the prefix `HUB_`, so that a missing or extra prefix counts as a misspelling. */
const withoutHubPrefix = (name: string): string => name.replace(/^HUB_/, '')

/** Levenshtein distance, except that one swap of neighboring letters counts as one edit. */
function countEdits(a: string, b: string): number {
  const swapped = Array.from(
    { length: a.length - 1 },
    (_, i) => a.slice(0, i) + a[i + 1] + a[i] + a.slice(i + 2),
  ).includes(b)
  return swapped ? 1 : distance(a, b)
}
