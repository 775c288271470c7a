import type { Amount, Cpv, Place } from '../model.ts'
import { amountOf, cpvOf, distinct } from './values.ts'
import { type Node, textOf } from './xml.ts'

/** Path of the eForms extension below the root, and below elements that it extends. */
export const EXTENSION =
  'ext:UBLExtensions/ext:UBLExtension/ext:ExtensionContent/efext:EformsExtension'

/** BT-262 and BT-263 of a `cac:ProcurementProject`. */
export function cpvIn(project: Node | undefined): Cpv {
  const codes = (path: string): string[] =>
    (project?.all(`${path}/cbc:ItemClassificationCode`) ?? [])
      .filter(({ attributes }) => (attributes['listName'] ?? 'cpv') === 'cpv')
      .flatMap((node) => cpvOf(textOf(node)) ?? [])
  const main = codes('cac:MainCommodityClassification')[0] ?? null
  const additional = distinct(codes('cac:AdditionalCommodityClassification'))
  return { main, additional: additional.filter((code) => code !== main) }
}

/** BT-5141 and BT-5071. */
export const placeOf = (project: Node | undefined): Place => ({
  countries: distinct(
    project?.texts('cac:RealizedLocation/cac:Address/cac:Country/cbc:IdentificationCode') ?? [],
  ),
  nuts: distinct(project?.texts('cac:RealizedLocation/cac:Address/cbc:CountrySubentityCode') ?? []),
})

/** BT-27. */
export const valueOf = (project: Node | undefined): Amount | null =>
  amountOf(project?.first('cac:RequestedTenderTotal/cbc:EstimatedOverallContractAmount'))

/** BT-271. */
export const frameworkMaxOf = (project: Node | undefined): Amount | null =>
  amountOf(project?.first(`cac:RequestedTenderTotal/${EXTENSION}/efbc:FrameworkMaximumAmount`))
