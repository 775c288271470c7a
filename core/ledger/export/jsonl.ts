import type { Format } from './format.ts'
import type { ExportPlan, Span } from './plan.ts'

const JSONL_FORMAT = 'agenthub-ledger/1'

const line = (value: object): string => `${JSON.stringify(value)}\n`
/** Complete export, one JSON object per line, which `verifyExport` checks without the database. */
export const jsonl: Format = {
  isRaw: true,
  start: (plan) => {
    const { period, accounts } = plan
    const filter = { ...(period ? { period } : {}), ...(accounts ? { accounts } : {}) }
    const spans = { from: bounds(plan, 'from'), to: bounds(plan, 'to') }
    const notes = plan.checkpoints ?? []
    const header = { type: 'header', format: JSONL_FORMAT, ...spans, ...filter }
    return (
      line(notes.length === 0 ? header : { ...header, checkpoints: notes.length }) +
      notes.map((note) => line({ type: 'checkpoint', note })).join('')
    )
  },
  account: ({ id, code, asset }) => line({ type: 'account', id, code, asset }),
  entry: ({ row, event, postings }) =>
    line({
      type: 'entry',
      event,
      postings: postings.map(({ account, amount }) => ({
        account: account.code,
        asset: account.asset,
        amount: String(amount),
      })),
      row: {
        id: row.id,
        owner: row.owner,
        seq: String(row.seq),
        at: row.at,
        amount: String(row.amount),
        rest: String(row.rest),
        fee: String(row.fee),
        payee: row.payee,
        expires_at: row.expiresAt,
        endpoint: row.endpoint,
        price_version: row.priceVersion,
        bps: row.bps,
        asset: row.asset,
        shard: row.shard,
        kind: row.kind,
        phase: row.phase,
        guards: row.guards,
        accounts: row.accounts,
        amounts: row.amounts?.map(String) ?? null,
        effective_at: row.effectiveAt,
        meta: row.meta,
        leaf: row.leaf,
      },
    }),
  seal: ({ shard, seqFrom, seqTo, at, prev, hash }) =>
    line({ type: 'seal', shard, seq_from: String(seqFrom), seq_to: String(seqTo), at, prev, hash }),
  end: (entries) => line({ type: 'end', entries: String(entries) }),
}

const bounds = ({ spans }: ExportPlan, side: 'from' | 'to'): Record<string, string> =>
  Object.fromEntries(spans.map((span: Span) => [span.shard, span[side]]))
