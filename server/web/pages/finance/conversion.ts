import { z } from 'zod'
import { type Clock, monthName, monthStart } from '../../../../core/clock.ts'
import { decimal } from '../../../../core/money.ts'
import type { ConversionJson, EthPriceJson } from '../../../rest/finance/conversion.ts'
import type { DecisionJson } from '../../../rest/finance/proposals.ts'
import { filterBar, form, formFields, textFilter } from '../../form.ts'
import { monthField, requiredDollars } from '../../form-schemas.ts'
import { formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, ledgerTable, withQuery } from '../../table.ts'
import {
  accountLink,
  entryPath,
  formatBalance,
  optionalPeriod,
  reason,
  reasonField,
} from './components.ts'

const PATH = '/finance/conversion'

/** `/finance/conversion`: ETH, its value, what gas cost, and the revaluation of a month. */
export const conversionPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page(PATH, {
    query: z.object({ period: optionalPeriod, quote: z.string().max(7).optional() }),
    actions: {
      revalue: formAction({
        fields: z.object({
          month: z.string().trim().pipe(monthField),
          price: requiredDollars,
          source: z.string().trim().min(1, 'enter where you read the price').max(200),
          reason,
        }),
        run: async ({ api }, { price, ...body }) => {
          const { state } = await api<DecisionJson>('POST /v1/finance/revaluations', {
            body: { ...body, price_microdollars: price },
          })
          return { to: `${PATH}?done=${state}` }
        },
      }),
    },
    notices: {
      booked: 'Revaluation posted at the end of its month.',
      proposed: 'Proposed. A second person must confirm it under Adjustments.',
    },
    render: async (request) => {
      const last = monthName(monthStart(clock.now(), -1))
      const period = request.query.period === '' ? monthName(clock.now()) : request.query.period
      const found = await request.api<ConversionJson>('GET /v1/finance/conversion', {
        query: { period },
      })
      const { quote } = request.query
      const read =
        quote === undefined
          ? undefined
          : await request.api<EthPriceJson>('GET /v1/finance/eth-price', {
              query: { month: quote },
            })
      return {
        title: 'ETH and gas',
        tabs: FINANCE_TABS,
        main: html`<h1>ETH and gas</h1><p class="lead">Accounts between ETH and USDC, by value date
(UTC). Gas is an expense at the configured price when it was recorded. Until the next revaluation,
<code>equity:conversion:usdc</code> contains its cost.</p>${filterBar(PATH, [
          textFilter('period', 'Period', period, 8),
        ])}${accountTable(found)}${revaluationTable(found)}${revalueForm(
          request,
          read ?? { month: last },
        )}${found.price_feed !== null && feedLink(last, found.price_feed)}`,
      }
    },
  })

/** Accounts with a balance or a change in the period. */
function accountTable({ accounts }: ConversionJson): Html {
  const used = accounts.filter(
    ({ opening, changes, closing }) => opening !== 0 || changes.length > 0 || closing !== 0,
  )
  if (used.length === 0) return emptyState('No ETH and no gas in this period.')
  return ledgerTable(
    'ETH and gas',
    [
      { head: 'Account', cell: (row) => row.name },
      { head: 'Asset', cell: ({ asset }) => asset },
      { head: 'Amount', number: true, cell: ({ amount, asset }) => formatBalance(amount, asset) },
    ],
    used.flatMap(({ account, asset, opening, changes, closing }) => [
      { name: html`${accountLink(account)}, opening`, asset, amount: opening },
      ...changes.map(({ event, entries, amount }) => ({
        name: html`${event} (${entries})`,
        asset,
        amount,
      })),
      { name: html`<strong>Closing</strong>`, asset, amount: closing },
    ]),
  )
}

const revaluationTable = ({ revaluations }: ConversionJson): Html | undefined =>
  revaluations.length === 0
    ? undefined
    : html`<h2>Revaluations</h2>${cardTable(
        'Revaluations',
        [
          {
            head: 'Value date',
            noWrap: true,
            cell: ({ entry_id: id, value_at: at }) =>
              html`<a href="${entryPath(id)}">${formatTime(at)}</a>`,
          },
          { head: 'USD per ETH', number: true, cell: ({ price }) => price },
          { head: 'Source', cell: ({ source }) => source },
          { head: 'Author', cell: ({ author }) => author },
        ],
        revaluations,
      )}`

const feedLink = (month: string, host: string): Html =>
  html`<p><a class="button plain" href="${withQuery(PATH, { quote: month })}#revalue">Read the price
of ${month} from ${host}</a></p>`

function revalueForm(
  { submission }: PageRequest,
  { month, price_microdollars: price, source }: Partial<EthPriceJson>,
): Html {
  const fields = formFields('revalue', submission)
  return html`<h2 id="revalue">Value the ETH at the end of a month</h2>${form({
    act: 'revalue',
    submit: 'Post revaluation',
    fields: [
      fields.text({
        name: 'month',
        label: 'Month',
        value: month ?? '',
        hint: 'A month (UTC) that is over and not closed.',
        max: 7,
        size: 8,
        required: true,
      }),
      fields.text({
        name: 'price',
        label: 'Price of one ETH (USD)',
        value: price === undefined ? '' : decimal(BigInt(price)),
        numeric: true,
        size: 12,
        required: true,
      }),
      fields.text({
        name: 'source',
        label: 'Source of the price',
        value: source ?? '',
        hint: 'Such as an exchange and a time.',
        max: 200,
        required: true,
      }),
      reasonField(fields),
    ],
  })}`
}
