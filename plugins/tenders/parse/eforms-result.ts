import type { Amount, LotGroup, LotResult, Result, Winner } from '../model.ts'
import { addDecimals } from './decimal.ts'
import type { Organization } from './eforms-parties.ts'
import { amountOf, distinct, WITHHELD } from './values.ts'
import type { Node } from './xml.ts'

/** Values of a framework agreement in a result: BT-709 and BT-660. */
const FRAMEWORK = 'efac:FrameworkAgreementValues'

type Organizations = ReadonlyMap<string, Organization>

/** Reads the outcome of the lots: winners and amounts, if published. */
export function resultOf(extension: Node, organizations: Organizations): Result | null {
  const result = extension.first('efac:NoticeResult')
  if (!result) return null
  const byId = (path: string) =>
    new Map(result.all(path).map((node) => [node.text('cbc:ID') ?? '', node] as const))
  const tables: Tables = {
    contracts: byId('efac:SettledContract'),
    tenders: byId('efac:LotTender'),
    parties: byId('efac:TenderingParty'),
    organizations,
  }
  return {
    total: amountOf(result.first('cbc:TotalAmount')),
    frameworkMax: amountOf(result.first('efbc:OverallMaximumFrameworkContractsAmount')),
    frameworkEstimated: amountOf(result.first('efbc:OverallApproximateFrameworkContractsAmount')),
    groups: result
      .all('efac:GroupFramework')
      .map(groupOf)
      .filter(({ frameworkMax, frameworkEstimated }) => frameworkMax ?? frameworkEstimated),
    lots: result.all('efac:LotResult').flatMap((node) => lotResultsOf(node, tables)),
  }
}

const groupOf = (node: Node): LotGroup => ({
  groupId: node.text('efac:TenderLot/cbc:ID') ?? null,
  frameworkMax: amountOf(node.first('efbc:GroupFrameworkMaximumValueAmount')),
  frameworkEstimated: amountOf(node.first('efbc:GroupFrameworkReestimatedValueAmount')),
})

interface Tables {
  readonly contracts: ReadonlyMap<string, Node>
  readonly tenders: ReadonlyMap<string, Node>
  readonly parties: ReadonlyMap<string, Node>
  readonly organizations: Organizations
}

function lotResultsOf(node: Node, tables: Tables): LotResult[] {
  const winning = winningTenders(node, tables)
  const code = node.text('cbc:TenderResultCode')
  const result: Omit<LotResult, 'lotId'> = {
    status: code === undefined || code === 'unpublished' ? null : code,
    winners: winnersOf(winning, tables),
    value: sumOf(winning.map((t) => amountOf(t.first('cac:LegalMonetaryTotal/cbc:PayableAmount')))),
    frameworkMax: amountOf(node.first(`${FRAMEWORK}/cbc:MaximumValueAmount`)),
    frameworkEstimated: amountOf(node.first(`${FRAMEWORK}/efbc:ReestimatedValueAmount`)),
    tenders: tendersReceived(node),
  }
  const lots = distinct(node.texts('efac:TenderLot/cbc:ID'))
  return lots.length === 0
    ? [{ lotId: null, ...result }]
    : lots.map((lotId) => ({ lotId, ...result }))
}

/** By the contracts of the result: its own list of tenders has all that were ranked, or one. */
function winningTenders(node: Node, { contracts, tenders }: Tables): Node[] {
  const ids = distinct(
    node
      .texts('efac:SettledContract/cbc:ID')
      .flatMap((id) => contracts.get(id)?.texts('efac:LotTender/cbc:ID') ?? []),
  )
  const own = new Set(node.texts('efac:LotTender/cbc:ID'))
  const code = node.text('cbc:TenderResultCode') ?? 'selec-w' // a direct award has none
  if (ids.length === 0 && own.size === 1 && code === 'selec-w') {
    return [...own].flatMap((id) => tenders.get(id) ?? [])
  }
  const both = ids.filter((id) => own.size === 0 || own.has(id)) // a contract may be of many lots
  return both.flatMap((id) => tenders.get(id) ?? [])
}

const winnersOf = (winning: readonly Node[], { parties, organizations }: Tables): Winner[] => {
  const found = distinct(
    winning
      .flatMap((tender) => tender.texts('efac:TenderingParty/cbc:ID'))
      .flatMap((id) => parties.get(id)?.texts('efac:Tenderer/cbc:ID') ?? []),
  ).flatMap((id) => organizations.get(id) ?? [])
  return found
    .filter(({ natural, name }) => !natural && name !== '')
    .map(({ name, country }) => ({ name, country }))
}

/** Sums the published amounts in one currency; withheld if any part is. */
function sumOf(amounts: readonly (Amount | null)[]): Amount | null {
  const published = amounts.filter((amount) => amount !== null)
  if (published.length === 0) return null
  const [first] = published
  if (published.length === 1) return first ?? null
  if (published.some(({ amount }) => amount === null)) return WITHHELD
  const currency = first?.currency ?? ''
  if (published.some((amount) => amount.currency !== currency)) return null
  return { amount: addDecimals(published.map(({ amount }) => amount ?? '0')), currency }
}

/** BT-759 for the kind of submission `tenders` (BT-760). */
function tendersReceived(node: Node): number | null {
  const statistics = node
    .all('efac:ReceivedSubmissionsStatistics')
    .find((each) => each.text('efbc:StatisticsCode') === 'tenders')
  const count = Number(statistics?.text('efbc:StatisticsNumeric') ?? '-1')
  return Number.isInteger(count) && count >= 0 ? count : null
}
