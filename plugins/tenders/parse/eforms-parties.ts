import type { Buyer } from '../model.ts'
import { cleanText, isTrue } from './values.ts'
import { type Node, textOf } from './xml.ts'

export interface Organization extends Buyer {
  /** A natural person: neither stored nor published. */
  readonly natural: boolean
}

/** Organizations by their id inside the notice; without persons, addresses, mail, telephone. */
export function organizationsOf(
  extension: Node,
  language: string,
): ReadonlyMap<string, Organization> {
  const organizations = extension.all('efac:Organizations/efac:Organization').flatMap((node) => {
    const company = node.first('efac:Company')
    const id = company?.text('cac:PartyIdentification/cbc:ID')
    if (!company || id === undefined) return []
    const names = company.all('cac:PartyName/cbc:Name')
    const name =
      names.find(({ attributes }) => attributes['languageID']?.toLowerCase() === language) ??
      names[0]
    const organization: Organization = {
      name: name ? cleanText(textOf(name)) : '',
      id: company.text('cac:PartyLegalEntity/cbc:CompanyID') ?? null,
      country: company.text('cac:PostalAddress/cac:Country/cbc:IdentificationCode') ?? null,
      nuts: company.text('cac:PostalAddress/cbc:CountrySubentityCode') ?? null,
      natural: isTrue(node.text('efbc:NaturalPersonIndicator')),
    }
    return [[id, organization] as const]
  })
  return new Map(organizations)
}

/** All buyers, in the order of the notice: OPT-300 joined to OPT-200. */
export const buyersOf = (root: Node, organizations: ReadonlyMap<string, Organization>): Buyer[] =>
  root.texts('cac:ContractingParty/cac:Party/cac:PartyIdentification/cbc:ID').flatMap((id) => {
    const found = organizations.get(id)
    if (!found || found.natural) return []
    const { natural: _, ...buyer } = found
    return [buyer]
  })
