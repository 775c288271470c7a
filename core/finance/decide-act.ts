import { withAudit } from '../audit/record.ts'
import { Fault } from '../errors.ts'
import { executeAdjustment, withValueDate } from './adjustments.ts'
import { executeBreakage } from './breakage.ts'
import { executeResolution } from './decisions.ts'
import { executeClosing } from './month-closing.ts'
import { executeAssignment } from './provider-owner.ts'
import { executeRecovery, executeWriteOff } from './receivables.ts'
import { executeRefund } from './refunds.ts'
import { executeRevaluation } from './revaluation.ts'
import { secondPersonFault } from './second-person.ts'
import { executeSmallDeposits, SMALL_DEPOSITS } from './small-deposits.ts'
import {
  type ActKind,
  type Execution,
  findAct,
  type Staff,
  type StaffAct,
  type SubmittedAct,
} from './staff-acts.ts'
import { prepareWalletTransfers, type TransferDeps } from './wallet-transfers.ts'

export interface DecisionDeps extends TransferDeps {
  /** Wallets of configured administrators, in lower case. */
  readonly admins: readonly string[]
}

/** Preparation of each kind of act; it may read the chain, before the transaction begins. */
const PREPARE: {
  readonly [Kind in ActKind]: (deps: DecisionDeps, act: StaffAct) => Execution | Promise<Execution>
} = {
  adjustment: (deps, { id, terms }) => executeAdjustment(deps, id, terms),
  refund: (deps, { terms }) => executeRefund(deps, terms),
  exception: (deps, { terms }) =>
    terms['decision'] === SMALL_DEPOSITS
      ? executeSmallDeposits(deps, terms)
      : executeResolution(deps, terms),
  transfer: (deps, { terms }) => prepareWalletTransfers(deps, terms),
  provider: (_, { terms }) => executeAssignment(terms),
  period: (_, { terms }) => executeClosing(terms),
  'write-off': (deps, act) => executeWriteOff(deps, act),
  recovery: (deps, act) => executeRecovery(deps, act),
  breakage: (deps, act) => executeBreakage(deps, act),
  revaluation: (deps, act) => executeRevaluation(deps, act),
}

/**
 * Carries out an act proposed by another person, or declines it. The proposer may only decline.
 * @throws Fault `not_found`, `second_person_required`, `own_account`, `admin_only`, `not_booked`,
 *   `already_refunded`
 */
export async function decideAct(
  deps: DecisionDeps,
  by: Staff,
  id: string,
  decision: 'confirm' | 'decline',
  reason: string,
): Promise<SubmittedAct> {
  const act = await findAct(deps.pool, id)
  if (!act) throw new Fault('not_found', 'There is no such proposal.')
  if (act.kind === 'provider' && by.role !== 'admin') throw new Fault('admin_only')
  const state = decision === 'confirm' ? 'booked' : 'declined'
  const execute =
    decision === 'confirm' && act.state === 'proposed'
      ? await PREPARE[act.kind](deps, act)
      : undefined
  return withAudit(deps.pool, by, reason, async (client, note) => {
    const found = (await findAct(client, id))!
    if (found.state === state) return withValueDate(client, { id, state }, found.terms)
    if (found.state !== 'proposed') {
      const decided = found.state === 'booked' ? 'posted' : found.state
      throw new Fault('not_booked', `The proposal was already ${decided}.`)
    }
    const { rows } = await client.query<{ fault: string | null }>(
      'SELECT hub.decide_act($1, $2, $3, $4, $5, $6, $7) AS fault',
      [id, state, reason, by.name, by.principal, favoredBy(found), deps.admins],
    )
    if (rows[0]!.fault !== null) throw secondPersonFault(rows[0]!.fault)
    const author = `${found.proposedBy}, confirmed by ${by.name}`
    const change = await execute?.(client, { author, reason: found.reason })
    note({
      act: `entry.${decision}`,
      subject: id,
      before: { state: 'proposed', by: found.proposedBy },
      after: { state, kind: found.kind, ...found.terms },
    })
    if (change && change.act !== 'entry.adjust') note(change)
    return withValueDate(client, { id, state }, found.terms)
  })
}

/** Principals that an act favors, other than by its accounts. */
const favoredBy = ({ terms: { owner, payer } }: StaffAct): readonly string[] =>
  [owner, payer].filter((each) => typeof each === 'string')
