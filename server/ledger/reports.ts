import { formatUnits } from '../../core/ledger/export/format.ts'
import { totals, trialBalance } from '../../core/ledger/trial-balance.ts'
import { type Command, FAILED, toJson } from './command.ts'

const DECIMALS = { USDC: 6, GWEI: 0, FREECALL: 0, ALLOWANCE: 6 } as const

export const balancesCommand: Command = {
  usage: '[--json]',
  about: 'the trial balance, credit-positive; exit code 1 when it is not zero',
  options: { json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const accounts = await trialBalance(await pool())
    const sums = totals(accounts)
    if (values['json'] === true) {
      await write(toJson({ accounts, totals: Object.fromEntries(sums) }))
    } else {
      const width = accounts.reduce(
        (most, { account }) => (account.length > most ? account.length : most),
        5,
      )
      const line = (name: string, asset: keyof typeof DECIMALS, amount: bigint): string =>
        `${name.padEnd(width)}  ${formatUnits(amount, DECIMALS[asset]).padStart(20)} ${asset}\n`
      const lines = accounts.map(({ account, asset, balance }) => line(account, asset, balance))
      const sumLines = [...sums].map(([asset, sum]) => line('total', asset, sum))
      await write(`${lines.join('')}\n${sumLines.join('')}`)
    }
    return [...sums.values()].every((sum) => sum === 0n) ? 0 : FAILED
  },
}
