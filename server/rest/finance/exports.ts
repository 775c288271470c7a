import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import type { FinancePorts } from '../../../core/finance/adjustments.ts'
import {
  type Export,
  findExport,
  listExports,
  partsOf,
  startExport,
} from '../../../core/finance/exports.ts'
import { FORMATS, type FormatName } from '../../../core/ledger/export/index.ts'
import { json } from '../../../core/money.ts'
import { Flow } from '../../proxy/stream.ts'
import { daysOf } from '../admin/audit.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { reason } from '../reason.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const NAMES = Object.keys(FORMATS) as [FormatName, ...FormatName[]]
const SUFFIX: Readonly<Record<FormatName, string>> = {
  jsonl: 'jsonl',
  csv: 'csv',
  hledger: 'journal',
  ledger: 'ledger',
  beancount: 'beancount',
}

const Exported = z.object({
  export_id: z.string(),
  format: z.enum(NAMES),
  title: z.string(),
  asked_by: z.string(),
  asked_at: z.iso.datetime(),
  state: z.enum(['waiting', 'writing', 'done', 'failed', 'dropped']).meta({
    description: 'dropped: written more than 30 days ago, and no longer kept.',
  }),
  entries_total: z.int().meta({ description: 'Entries that are looked at.' }),
  entries: z.int().meta({ description: 'Those that are written by now.' }),
  bytes: z.int().meta({ description: 'Of the text by now.' }),
  sha256: z.string().nullable().meta({ description: 'Of the text, unpacked.' }),
  file: z.string().nullable().meta({ description: 'Where it is, packed by gzip.' }),
  failure: z.string().nullable(),
})

export type ExportJson = z.infer<typeof Exported>

/** Exports of the journal: asked for, written by a job, and downloaded. */
export const exportRoutes = (ports: FinancePorts): readonly AnyRoute[] => [
  startRoute(ports),
  route({
    method: 'GET',
    path: '/v1/finance/exports',
    summary: 'Exports and how far they have come, the newest first.',
    auth: 'finance',
    query: z.strictObject(paging),
    answer: { status: 200, schema: pageOf(Exported) },
    handle: async ({ query: { limit, cursor }, url }) => {
      const [before] = readCursor(cursor, z.tuple([z.string().max(30)])) ?? []
      const rows = await listExports(ports.pool, limit + 1, before)
      return page(rows, limit, url, ({ id }) => [id], show)
    },
  }),
  route({
    method: 'GET',
    path: '/v1/finance/exports/{id}',
    summary: 'An export, and how far it has come.',
    auth: 'finance',
    answer: { status: 200, schema: Exported },
    faults: ['not_found'],
    handle: async ({ params: { id = '' } }) => ({ body: show(await findExport(ports.pool, id)) }),
  }),
  route({
    method: 'GET',
    path: '/v1/finance/exports/{id}/file',
    summary: 'The file of an export that is done, packed by gzip.',
    auth: 'finance',
    answer: { status: 200, type: 'application/gzip', schema: z.string() },
    faults: ['not_found', 'export_not_ready', 'export_dropped'],
    handle: async ({ params: { id = '' } }) => {
      const parts = await partsOf(ports.pool, id)
      const { format } = await findExport(ports.pool, id)
      const file = `agenthub-${id}.${SUFFIX[format]}.gz`
      return {
        headers: {
          'Content-Type': 'application/gzip',
          'Content-Disposition': `attachment; filename="${file}"`,
        },
        body: Flow.of(parts),
      }
    },
  }),
]

const startRoute = (ports: FinancePorts): AnyRoute =>
  route({
    method: 'POST',
    path: '/v1/finance/exports',
    summary: 'Starts an export of the journal; what it covers is fixed now.',
    auth: 'finance',
    body: z.strictObject({
      format: z.enum(NAMES),
      from: z.iso.date().optional().meta({ description: 'The first UTC day, by value date.' }),
      to: z.iso.date().optional().meta({ description: 'The last UTC day.' }),
      account: z
        .string()
        .regex(/^[a-z][\w:.-]{0,299}$/, 'an account, or how some begin')
        .optional()
        .meta({
          description: 'Entries that touch it, whole; all that begin so, if it ends in ":".',
        }),
      opening: z.boolean().default(false).meta({
        description: 'Begun with the balances before the first day.',
      }),
      reason,
    }),
    answer: { status: 202, schema: Exported },
    faults: ['rate_limited'],
    handle: async (request) => {
      const { format, from, to, account, opening, reason: why } = request.body
      const days = daysOf({ from, to })
      if (days.from && days.to && days.to <= days.from) {
        throw new Fault('validation_failed', 'The period ends before it begins.')
      }
      const period = {
        from: days.from ?? new Date('1970-01-01T00:00:00Z'),
        to: days.to ?? new Date('9999-12-31T00:00:00Z'),
      }
      const wish = {
        format,
        opening,
        title: titleOf(from, to, account),
        order: {
          ...((from !== undefined || to !== undefined) && { period }),
          ...(account !== undefined && { accounts: [account] }),
        },
      }
      return { status: 202, body: show(await startExport(ports, staffOf(request), wish, why)) }
    },
  })

const titleOf = (
  from: string | undefined,
  to: string | undefined,
  account: string | undefined,
): string => {
  const days =
    from === undefined && to === undefined
      ? 'The whole journal'
      : `The journal ${from === undefined ? '' : `from ${from} `}${
          to === undefined ? 'on' : `up to ${to}`
        }`
  return account === undefined ? days : `${days}, ${account}`
}

const show = (made: Export): z.infer<typeof Exported> => ({
  export_id: made.id,
  format: made.format,
  title: made.title,
  asked_by: made.askedBy,
  asked_at: made.askedAt.toISOString(),
  state: made.state === 'written' ? 'writing' : made.state,
  entries_total: json(made.total),
  entries: json(made.entries),
  bytes: json(made.bytes),
  sha256: made.sha256,
  file: made.state === 'done' ? `/v1/finance/exports/${made.id}/file` : null,
  failure: made.failure,
})
