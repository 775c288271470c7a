import { ForkError, publishTrees } from '../../../core/ledger/transparency/publish.ts'
import { type Command, EXIT_FAILED, required, toJson } from '../command.ts'

export const publishCommand: Command = {
  usage: 'DIR [--json]',
  description: `write the signed Merkle trees of the journal (C2SP tlog-tiles) into a folder for a
static web server, from which anybody can check that no entry was changed or removed`,
  options: { json: { type: 'boolean' } },
  words: 1,
  async run({ pool, write, log }, values, [folder]) {
    try {
      const trees = await publishTrees(await pool(), required(folder, 'DIR'))
      const lines = trees.map(
        ({ shard, size, tiles }) => `shard ${shard}: ${size} entries, ${tiles} new tiles\n`,
      )
      if (trees.length === 0) await log('No signed checkpoint has a Merkle tree yet.\n')
      await write(values['json'] === true ? toJson({ trees }) : lines.join(''))
      return 0
    } catch (error) {
      if (!(error instanceof ForkError)) throw error
      await log(`${error.message} Nothing was written.\n`)
      return EXIT_FAILED
    }
  },
}
