import { lags, rebuild } from '../../../core/ledger/outbox/subscriber.ts'
import { lowBalance } from '../../../core/usage/low-balance.ts'
import { spending } from '../../../core/usage/spending.ts'
import { type Command, Misuse } from './command.ts'

/** By name. What they hand on is of no concern here: a rebuild hands nothing on. */
const SUBSCRIBERS = new Map(
  [spending, lowBalance(() => Promise.resolve())].map((each) => [each.name, each]),
)

export const rebuildCommand: Command = {
  usage: `[${[...SUBSCRIBERS.keys()].join('|')}]`,
  about: `clear what a reader of the journal keeps: the hub makes it anew, now or when it starts;
without a name, tell how far the readers are`,
  options: {},
  words: 1,
  async run({ pool, write }, _, [name]) {
    if (name === undefined) {
      const lines = (await lags(await pool())).map(
        (lag) => `${lag.name.padEnd(16)} shard ${lag.shard}  ${lag.behind} entries behind\n`,
      )
      await write(lines.length > 0 ? lines.join('') : 'Nobody has read the journal yet.\n')
      return 0
    }
    const subscriber = SUBSCRIBERS.get(name)
    if (!subscriber) throw new Misuse(`no such reader: ${name}`)
    await rebuild(await pool(), subscriber)
    await write(`${name} is cleared; the hub makes it anew from the journal.\n`)
    return 0
  },
}
