import { rebuild, subscriberLags } from '../../../core/ledger/outbox/subscriber.ts'
import { lowBalanceSubscriber } from '../../../core/usage/low-balance.ts'
import { spendingSubscriber } from '../../../core/usage/spending.ts'
import { type Command, UsageError } from '../command.ts'

/** Journal subscribers by name. A rebuild sends no notifications. */
const SUBSCRIBERS = new Map(
  [spendingSubscriber, lowBalanceSubscriber(() => Promise.resolve())].map((each) => [
    each.name,
    each,
  ]),
)

export const rebuildCommand: Command = {
  usage: `[${[...SUBSCRIBERS.keys()].join('|')}]`,
  description: `clear a projection of the journal; the hub rebuilds it, now or when it starts;
without a name, show how far the subscribers have read`,
  options: {},
  words: 1,
  async run({ pool, write }, _, [name]) {
    if (name === undefined) {
      const lines = (await subscriberLags(await pool())).map(
        (lag) => `${lag.name.padEnd(16)} shard ${lag.shard}  ${lag.behind} entries behind\n`,
      )
      await write(lines.length > 0 ? lines.join('') : 'No subscriber has read the journal yet.\n')
      return 0
    }
    const subscriber = SUBSCRIBERS.get(name)
    if (!subscriber) throw new UsageError(`no such subscriber: ${name}`)
    await rebuild(await pool(), subscriber)
    await write(`${name} is cleared; the hub rebuilds it from the journal.\n`)
    return 0
  },
}
