import type { ClientBase } from 'pg'
import { Fault } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { closedPeriods, closePeriod, NotClosable } from '../ledger/history/period.ts'
import {
  adviceFor,
  type ChecklistItemName,
  closingChecklist,
  missingItems,
} from './closing-checklist.ts'
import {
  type ActTerms,
  type Execution,
  type FinanceDeps,
  type Staff,
  type SubmittedAct,
  submitAct,
  withActContext,
} from './staff-acts.ts'

/**
 * Proposes to close a month and all before it; another person closes it by confirming. If the
 * checklist is not complete, `override` is required, and both people take responsibility.
 * @returns undefined if the month is closed already
 * @throws Fault `not_closable`
 */
export const proposeClosing = (
  deps: FinanceDeps,
  by: Staff,
  { month, override }: { readonly month: string; readonly override: boolean },
  reason: string,
): Promise<SubmittedAct | undefined> =>
  withActContext(deps, by, reason, async (context) => {
    if (await isClosed(context.client, month)) return undefined
    const missing = missingItems(await closingChecklist(context.client, month))
    if (!override) assertComplete(month, missing)
    const order = {
      id: uuidv7(deps.clock.now().getTime()),
      kind: 'period',
      subject: month,
      terms: { month, override: missing },
      accounts: [],
      exposure: 0n,
    } as const
    return submitAct(context, order, executeClosing(order.terms))
  })

/** Execution of a closing. Only items that both people have seen may be missing. */
export const executeClosing =
  (terms: ActTerms): Execution =>
  async (client, { author }) => {
    const month = String(terms['month'])
    const seen = Array.isArray(terms['override']) ? terms['override'] : []
    const missing = missingItems(await closingChecklist(client, month))
    assertComplete(
      month,
      missing.filter((name) => !seen.includes(name)),
    )
    try {
      const closed = await closePeriod(client, month, author)
      if (closed.length === 0) return undefined
      const override = missing.length > 0 ? { override: missing } : {}
      return { act: 'period.close', subject: month, after: { closed, ...override } }
    } catch (error) {
      if (!(error instanceof NotClosable)) throw error
      throw new Fault('not_closable', `${error.message}.`, { cause: error })
    }
  }

async function isClosed(client: ClientBase, month: string): Promise<boolean> {
  const periods = await closedPeriods(client)
  return periods.some((period) => period.month >= month)
}

function assertComplete(month: string, missing: readonly ChecklistItemName[]): void {
  if (missing.length === 0) return
  const detail = `The checklist of ${month} is not complete. ${adviceFor(missing)}`
  throw new Fault('not_closable', detail, { extras: { missing } })
}
