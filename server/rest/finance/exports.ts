import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import {
  findExport,
  type LedgerExport,
  listExports,
  openParts,
  startExport,
} from '../../../core/finance/export-requests.ts'
import type { FinanceDeps } from '../../../core/finance/staff-acts.ts'
import { FORMATS, type FormatName } from '../../../core/ledger/export/writer.ts'
import { json } from '../../../core/money.ts'
import { ResponseStream } from '../../http/response-stream.ts'
import { dayBounds } from '../days.ts'
import { auditReason } from '../fields.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const FORMAT_NAMES = Object.keys(FORMATS) as [FormatName, ...FormatName[]]
const FILE_SUFFIX: Readonly<Record<FormatName, string>> = {
  jsonl: 'jsonl',
  csv: 'csv',
  hledger: 'journal',
  ledger: 'ledger',
  beancount: 'beancount',
}

const ExportView = z.object({
  export_id: z.string(),
  format: z.enum(FORMAT_NAMES),
  title: z.string(),
  asked_by: z.string(),
  asked_at: z.iso.datetime(),
  state: z.enum(['waiting', 'writing', 'done', 'failed', 'dropped']).meta({
    description: 'dropped: written more than 30 days ago and deleted.',
  }),
  entries_total: z.int().meta({ description: 'Entries to examine.' }),
  entries: z.int().meta({ description: 'Entries written so far.' }),
  bytes: z.int().meta({ description: 'Size of the text so far.' }),
  sha256: z.string().nullable().meta({ description: 'SHA-256 of the uncompressed text.' }),
  file: z.string().nullable().meta({ description: 'Path of the gzip file.' }),
  failure: z.string().nullable(),
})

export type ExportJson = z.infer<typeof ExportView>

export const exportRoutes = (deps: FinanceDeps): readonly AnyRoute[] => [
  startRoute(deps),
  route('GET /v1/finance/exports', {
    summary: 'Lists exports and their progress, newest first.',
    auth: 'finance',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(ExportView) },
    handle: async ({ query: { limit, cursor }, url }) => {
      const [before] = readCursor(cursor, z.tuple([z.string().max(30)])) ?? []
      const rows = await listExports(deps.pool, limit + 1, before)
      return toPage(rows, limit, url, ({ id }) => [id], showExport)
    },
  }),
  route('GET /v1/finance/exports/{id}', {
    summary: 'Returns an export and its progress.',
    auth: 'finance',
    response: { status: 200, schema: ExportView },
    faults: ['not_found'],
    handle: async ({ params: { id } }) => ({ body: showExport(await findExport(deps.pool, id)) }),
  }),
  route('GET /v1/finance/exports/{id}/file', {
    summary: 'Downloads the gzip file of a finished export.',
    auth: 'finance',
    response: { status: 200, type: 'application/gzip', schema: z.string() },
    faults: ['not_found', 'export_not_ready', 'export_dropped'],
    handle: async ({ params: { id } }) => {
      const parts = await openParts(deps.pool, id)
      const { format } = await findExport(deps.pool, id)
      const file = `agenthub-${id}.${FILE_SUFFIX[format]}.gz`
      return {
        headers: {
          'Content-Type': 'application/gzip',
          'Content-Disposition': `attachment; filename="${file}"`,
        },
        body: ResponseStream.of(parts),
      }
    },
  }),
]

const startRoute = (deps: FinanceDeps): AnyRoute =>
  route('POST /v1/finance/exports', {
    summary: 'Starts an export of the journal as it is now.',
    auth: 'auditor',
    body: z.strictObject({
      format: z.enum(FORMAT_NAMES),
      from: z.iso.date().optional().meta({ description: 'First UTC day, by value date.' }),
      to: z.iso.date().optional().meta({ description: 'Last UTC day, by value date.' }),
      account: z
        .string()
        .regex(/^[a-z][\w:.-]{0,299}$/, 'must be an account name or prefix')
        .optional()
        .meta({ description: 'Only entries of this account, or of a prefix ending in ":".' }),
      opening: z.boolean().default(false).meta({
        description: 'Starts with the balances before the first day.',
      }),
      all_assets: z.boolean().default(false).meta({
        description: 'Includes free calls and allowances in accounting formats.',
      }),
      reason: auditReason,
    }),
    response: { status: 202, schema: ExportView },
    faults: ['rate_limited'],
    handle: async (request) => {
      const { format, from, to, account, opening, all_assets: allAssets, reason } = request.body
      const days = dayBounds({ from, to })
      if (days.from && days.to && days.to <= days.from) {
        throw new Fault('validation_failed', '"from" must not be after "to".')
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
          ...(allAssets && { allAssets }),
        },
      }
      return {
        status: 202,
        body: showExport(await startExport(deps, staffOf(request), wish, reason)),
      }
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

const showExport = (made: LedgerExport): z.infer<typeof ExportView> => ({
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
