import { verifyLedger } from '../../core/ledger/verify.ts'
import { type Command, FAILED, toJson } from './command.ts'

export const verifyCommand: Command = {
  usage: '[--json]',
  about: `prove the books: rebuild every balance from the journal, check the holds, the
sequence and the chain of seals; exit code 1 when anything is wrong`,
  options: { json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const { ok, checks } = await verifyLedger(await pool())
    if (values['json'] === true) await write(toJson({ ok, checks }))
    else {
      const lines = checks.map(({ name, bad, example }) =>
        bad === 0n ? `ok   ${name}\n` : `BAD  ${name}: ${bad}, first ${example}\n`,
      )
      await write(`${lines.join('')}${ok ? 'The books are sound.' : 'The books are NOT sound.'}\n`)
    }
    return ok ? 0 : FAILED
  },
}
