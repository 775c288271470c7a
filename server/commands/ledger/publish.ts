import { openLogStore } from '../../../core/ledger/transparency/log-store.ts'
import { ForkError, publishTrees } from '../../../core/ledger/transparency/publish.ts'
import { type Command, EXIT_FAILED, optional, required, toJson } from '../command.ts'

export const publishCommand: Command = {
  usage: 'DIR|s3://BUCKET/PREFIX [--endpoint URL] [--json]',
  description: `write the signed Merkle trees of the journal (C2SP tlog-tiles) into a folder for a
static web server, or a bucket (--endpoint: of an S3-compatible server), so that anyone can check
that no entry was changed or removed`,
  options: { endpoint: { type: 'string' }, json: { type: 'boolean' } },
  words: 1,
  async run({ pool, write, log }, values, [place]) {
    const endpoint = optional(values['endpoint'])
    const store = await openLogStore(required(place, 'DIR or s3://BUCKET/PREFIX'), { endpoint })
    try {
      const trees = await publishTrees(await pool(), store)
      const lines = trees.map(({ tree, size, tiles }) =>
        tree === 'heads'
          ? `heads: ${size} checkpoints of shards, ${tiles} new tiles\n`
          : `shard ${tree}: ${size} entries, ${tiles} new tiles\n`,
      )
      if (trees.length === 0) await log('No signed checkpoint has a Merkle tree yet.\n')
      await write(values['json'] === true ? toJson({ trees }) : lines.join(''))
      return 0
    } catch (error) {
      if (!(error instanceof ForkError)) throw error
      await log(`${error.message} Nothing was written.\n`)
      return EXIT_FAILED
    } finally {
      store.close()
    }
  },
}
