import type { EarningJson } from '../../../rest/provider/domains-earnings.ts'
import { aligned, count, inDollars } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { stacks } from '../../stacks.ts'
import { cardTable } from '../../table.ts'

/** What a domain earned by day, and by which pages the most. */
export function earningsPart(
  days: readonly string[],
  byDay: readonly EarningJson[],
  byPage: readonly EarningJson[],
): Html {
  if (byPage.length === 0) {
    return html`<h2>Earnings</h2>${empty('No page was sold in 30 days.')}`
  }
  const amounts = byDay.map(({ day = '', earned_microdollars: earned }) => {
    return { day, of: 'earned', amount: BigInt(earned) }
  })
  return html`<h2>Earnings</h2>${stacks(days, amounts, {
    label: 'Earnings by day, after commission',
    write: inDollars,
    legend: false,
  })}${cardTable(
    'Earnings by page',
    [
      { head: 'Page', cell: ({ page }) => html`<code>${page}</code>` },
      { head: 'Sold', number: true, cell: ({ calls }) => count(calls) },
      { head: 'Of these kept ones', number: true, cell: (each) => count(each.cached_calls) },
      { head: 'Paid', number: true, cell: aligned(byPage, (each) => each.charged_microdollars) },
      { head: 'Earned', number: true, cell: aligned(byPage, (each) => each.earned_microdollars) },
    ],
    byPage,
  )}<p class="small muted">The ten pages that earned the most in 30 days, after commission. All of
them: <code>GET /v1/domains/{id}/earnings</code>.</p>`
}
