import { checkDocuments, findCommissionGaps } from '../../../core/finance/documents/check.ts'
import { listDocuments } from '../../../core/finance/documents/issue.ts'
import { decimal } from '../../../core/money.ts'
import { type Command, EXIT_FAILED, toJson } from '../command.ts'

const PAGE_SIZE = 500

export const documentsCommand: Command = {
  usage: '[--check] [--json]',
  description: `list receipts, statements and credit notes, newest first
--check  compares the figures of each with the journal, and finds entries of which no commission can
be invoiced; exit code 1 if there are any`,
  options: { check: { type: 'boolean' }, json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const isCheck = values['check'] === true
    let after: string | undefined
    let wrong = 0
    for (;;) {
      const page = await listDocuments(await pool(), { limit: PAGE_SIZE, after })
      const faults = isCheck ? await checkDocuments(await pool(), page) : new Map<string, string>()
      wrong += faults.size
      for (const document of page) {
        const { number, kind, issuedAt, content } = document
        const fault = faults.get(number)
        const total = decimal(BigInt(content.totals.gross_microdollars))
        const facts = [number, kind.padEnd(11), issuedAt.toISOString(), total.padStart(18)]
        const line = `${facts.join('  ')}  ${content.customer.legal_name}\n`
        if (values['json'] === true) await write(toJson({ ...document, fault }))
        else if (!isCheck) await write(line)
        else if (fault !== undefined) await write(`BAD  ${number}: ${fault}\n`)
      }
      after = page.at(-1)?.number
      if (page.length < PAGE_SIZE) break
    }
    const gaps = isCheck ? await findCommissionGaps(await pool()) : []
    wrong += gaps.length
    for (const { account, shard, from, to } of gaps) {
      const range = `the entries ${from} to ${to} on shard ${shard}`
      await write(`BAD  ${account}: no payout includes ${range}\n`)
    }
    if (isCheck && wrong === 0) await write('All documents agree with the journal.\n')
    return wrong > 0 ? EXIT_FAILED : 0
  },
}
