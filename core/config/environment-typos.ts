import { editDistance } from '../edit-distance.ts'

/** What the names of the hub's variables begin with. Others belong to other programs. */
const OURS = /^(?:HUB|X402|DATABASE)_/
/** Shorter names are too like each other for two letters that differ. */
const SHORT = 6

/**
 * A sentence for each variable that nobody reads, and whose name is a letter or two beside one that
 * the hub does. Other names may be meant for somebody else: the command line, a plugin, a cluster.
 * @param known the names that the hub reads
 */
export const misspeltIn = (env: NodeJS.ProcessEnv, known: readonly string[]): readonly string[] =>
  Object.keys(env)
    .filter((name) => OURS.test(name) && !known.includes(name))
    .flatMap((name) => {
      const [meant] = known
        .map((each) => ({ each, errors: editDistance(bare(name), bare(each)) }))
        .filter(({ each, errors }) => errors <= (bare(each).length < SHORT ? 1 : 2))
        .sort((a, b) => a.errors - b.errors)
      return meant ? [`${name} is ignored: did you mean ${meant.each}?`] : []
    })

/** `HUB_RPC_URL` is a misspelling too. */
const bare = (name: string): string => name.replace(/^HUB_/, '')
