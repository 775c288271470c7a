import { Fault } from '../../../core/errors.ts'
import { acceptRestore } from '../../../core/finance/accept-restore.ts'
import { RetainedCheckpoints } from '../../../core/ledger/retained-checkpoints.ts'
import { actorNamed } from '../author.ts'
import { type Command, EXIT_FAILED, required } from '../command.ts'

export const acceptRestoreCommand: Command = {
  usage: '--author WHO --reason WHY',
  description: `accept a restored backup that lacks entries for which HUB_DATA_DIR has signed
checkpoints: verifies all that it contains, moves those checkpoints to the folder abandoned, and
pauses outgoing payments, which need a reconciliation and "npm run payments -- resume"`,
  options: { author: { type: 'string' }, reason: { type: 'string' } },
  async run({ pool, write, dataDir }, values) {
    const by = actorNamed(required(values['author'], '--author'))
    const reason = required(values['reason'], '--reason')
    const retained = new RetainedCheckpoints(required(dataDir, 'HUB_DATA_DIR'))
    try {
      for (const { shard, seq, at } of await acceptRestore(await pool(), retained, by, reason)) {
        await write(`Abandoned: shard ${shard}, entries up to ${seq}, signed at ${at}.\n`)
      }
      await write('Accepted. Outgoing payments are paused.\n')
      return 0
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await write(`Not accepted: ${error.message}\n`)
      return EXIT_FAILED
    }
  },
}
