import { type RetentionLine, readRetention } from '../../../core/audit/retention.ts'
import { readConfig } from '../../../core/config.ts'
import { type Command, EXIT_FAILED, toJson } from '../command.ts'

export const retentionCommand: Command = {
  usage: '[--json]',
  description: `list how long data is stored, what jobs delete, and what is permanent; exit code 1
if a job has not deleted what it should, or evidence is not protected`,
  options: { json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const lines = await readRetention(await pool(), readConfig().retention)
    await write(values['json'] === true ? toJson(lines) : lines.map(describeLine).join(''))
    return lines.some(isViolated) ? EXIT_FAILED : 0
  },
}

const isViolated = ({ overdue, isProtected }: RetentionLine): boolean =>
  (overdue ?? 0n) > 0n || isProtected === false

const describeLine = (line: RetentionLine): string =>
  `${isViolated(line) ? 'BAD' : 'ok '}  ${line.name.padEnd(15)} ${ruleOf(line).padEnd(22)} ${
    line.data
  }${line.overdue ? ` ${line.overdue} rows are overdue: see job ${line.deletedBy}.` : ''}\n`

const ruleOf = ({ kept, days }: RetentionLine): string =>
  kept === 'days'
    ? `${days} days`
    : { evidence: 'permanent', account: 'as long as used', state: 'state' }[kept]
