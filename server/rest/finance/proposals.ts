import { z } from 'zod'
import { type DecisionDeps, decideAct } from '../../../core/finance/decide-act.ts'
import {
  ACT_KINDS,
  type ActKind,
  listActs,
  type StaffAct,
  type SubmittedAct,
} from '../../../core/finance/staff-acts.ts'
import { json } from '../../../core/money.ts'
import { auditReason } from '../fields.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, parse, route, staffOf } from '../route.ts'

export const DecisionView = z.object({
  id: z.uuid().meta({ description: 'Id of the act; of an adjustment, also of its journal entry.' }),
  state: z.enum(['proposed', 'booked', 'declined']).meta({
    description: 'proposed: awaits a second person. booked: done.',
  }),
  used_value_date: z.iso.datetime().nullable().optional().meta({
    description: 'Value date of the entry, if one was requested. null: not posted yet.',
  }),
  value_date_note: z.string().nullable().optional().meta({
    description: 'Reason if the entry does not count on the requested date.',
  }),
})

const ActView = DecisionView.pick({ id: true, state: true }).extend({
  kind: z.enum(ACT_KINDS),
  subject: z.string().meta({ description: 'Call, exception, transaction or provider.' }),
  terms: z
    .record(z.string(), z.unknown())
    .meta({ description: 'Content of the act, by its kind.' }),
  accounts: z.array(z.string()).meta({ description: 'Accounts that it changes.' }),
  exposure_microdollars: z
    .int()
    .meta({ description: 'Amount that counts against the daily limit.' }),
  reason: z.string(),
  proposed_by: z.string(),
  proposed_at: z.iso.datetime(),
  decided_by: z.string().nullable().meta({ description: 'null: pending, or done by one person.' }),
  decided_at: z.iso.datetime().nullable(),
  note: z.string().nullable(),
})

const AdjustmentView = ActView.omit({ kind: true, subject: true, terms: true }).extend({
  debit: z.string(),
  credit: z.string(),
  amount: z.int().meta({ description: 'Amount in units of the asset.' }),
  asset: z.string(),
  value_date: z.iso.datetime().nullable(),
})

export type DecisionJson = z.infer<typeof DecisionView>
export type ActJson = z.infer<typeof ActView>
type AdjustmentJson = z.infer<typeof AdjustmentView>

/** Acts of staff that need, or needed, a second person. */
export const proposalRoutes = (deps: DecisionDeps): readonly AnyRoute[] => [
  route('GET /v1/finance/proposals', {
    summary: 'Lists acts of staff about money, newest first: pending, proposed, or all.',
    auth: 'finance',
    query: listQuery({
      state: z.enum(['open', 'proposed', 'all']).default('all').meta({
        description: 'open: pending. proposed: pending or decided. all: also acts of one person.',
      }),
      kind: z.enum(ACT_KINDS).optional(),
    }),
    response: { status: 200, schema: pageSchema(ActView) },
    handle: ({ query, url }) => listPage(deps, query, url, showAct),
  }),
  route('GET /v1/finance/adjustments', {
    summary: 'Lists proposed adjustments, newest first: all, or only the pending ones.',
    auth: 'finance',
    query: listQuery({ state: z.enum(['open', 'all']).default('all') }),
    response: { status: 200, schema: pageSchema(AdjustmentView) },
    handle: ({ query, url }) => {
      const state = query.state === 'all' ? 'proposed' : query.state
      return listPage(deps, { ...query, state, kind: 'adjustment' }, url, showAdjustment)
    },
  }),
  ...(['proposals', 'adjustments'] as const).flatMap((list) => [
    decideRoute(deps, list, 'confirm', 'Confirms and does what another person proposed.'),
    decideRoute(deps, list, 'decline', 'Declines a proposal, or withdraws your own.'),
  ]),
]

const decideRoute = (
  deps: DecisionDeps,
  list: 'proposals' | 'adjustments',
  decision: 'confirm' | 'decline',
  summary: string,
): AnyRoute =>
  route(`POST /v1/finance/${list}/{id}/${decision}`, {
    summary,
    auth: 'finance',
    body: z.strictObject({ reason: auditReason }),
    response: { status: 200, schema: DecisionView },
    faults: [
      'not_found',
      'not_booked',
      'already_refunded',
      'not_resolvable',
      'not_closable',
      'owner_not_possible',
      'chain_unavailable',
      'second_person_required',
      'own_account',
    ],
    handle: async (request) => {
      const id = parse(z.uuid(), request.params.id, 'id').toLowerCase()
      const { reason } = request.body
      return { body: showDecision(await decideAct(deps, staffOf(request), id, decision, reason)) }
    },
  })

/** Result of an act, as `DecisionView` describes it. */
export const showDecision = ({ id, state, valueDate }: SubmittedAct): DecisionJson => ({
  id,
  state,
  ...(valueDate && {
    used_value_date: valueDate.date?.toISOString() ?? null,
    value_date_note: valueDate.note,
  }),
})

interface ListQuery {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly state: 'open' | 'proposed' | 'all'
  readonly kind?: ActKind | undefined
}

async function listPage(
  { pool }: Pick<DecisionDeps, 'pool'>,
  { limit, cursor, state, kind }: ListQuery,
  url: string,
  show: (act: StaffAct) => ActJson | AdjustmentJson,
) {
  const [after] = readCursor(cursor, z.tuple([z.uuid()])) ?? []
  const rows = await listActs(pool, { state, kind, limit: limit + 1, after })
  return toPage(rows, limit, url, ({ id }) => [id], show)
}

const showCommon = (act: StaffAct) => ({
  id: act.id,
  state: act.state,
  accounts: [...act.accounts],
  exposure_microdollars: json(act.exposure),
  reason: act.reason,
  proposed_by: act.proposedBy,
  proposed_at: act.proposedAt.toISOString(),
  decided_by: act.decidedBy,
  decided_at: act.decidedAt?.toISOString() ?? null,
  note: act.note,
})

const showAct = (act: StaffAct): ActJson => ({
  ...showCommon(act),
  kind: act.kind,
  subject: act.subject,
  terms: act.terms,
})

const showAdjustment = (act: StaffAct): AdjustmentJson => {
  const { debit, credit, amount, asset, valueDate } = act.terms
  return {
    ...showCommon(act),
    debit: String(debit),
    credit: String(credit),
    amount: Number(amount),
    asset: String(asset),
    value_date: valueDate === undefined ? null : String(valueDate),
  }
}
