/** A fictional notice with the minimum that an eForms reader needs. */
export interface Sample {
  readonly number: string
  readonly published: string
  readonly ojs: string
  readonly notice: string
  readonly version: string
  readonly procedure?: string
  readonly kind: string
  readonly type: string
  /** Country as in the journal, such as `DEU`. */
  readonly language: string
  readonly title: string
  readonly buyer: { readonly name: string; readonly country: string; readonly nuts: string }
  readonly activity: string
  readonly cpv: readonly string[]
  readonly value?: readonly [amount: string, currency: string]
  readonly lots: readonly SampleLot[]
  readonly changes?: {
    readonly reference: string
    readonly reason: string
    readonly section: string
    readonly text: string
  }
}

export interface SampleLot {
  readonly id: string
  readonly title: string
  readonly cpv: string
  readonly value?: readonly [amount: string, currency: string]
  readonly deadline: readonly [date: string, time: string]
  readonly documents?: string
}

const UBL = 'urn:oasis:names:specification:ubl:schema:xsd'
const EFORMS = 'http://data.europa.eu/p27/eforms-ubl-extension'
const NAMESPACES = [
  `xmlns:cac="${UBL}:CommonAggregateComponents-2"`,
  `xmlns:cbc="${UBL}:CommonBasicComponents-2"`,
  `xmlns:ext="${UBL}:CommonExtensionComponents-2"`,
  `xmlns:efac="${EFORMS}-aggregate-components/1"`,
  `xmlns:efbc="${EFORMS}-basic-components/1"`,
  `xmlns:efext="${EFORMS}s/1"`,
].join(' ')

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

const tag = (name: string, text: string, attributes = ''): string =>
  `<${name}${attributes && ` ${attributes}`}>${escaped(text)}</${name}>`

const cpvOf = (kind: 'Main' | 'Additional', code: string): string =>
  `<cac:${kind}CommodityClassification>${tag(
    'cbc:ItemClassificationCode',
    code,
    'listName="cpv"',
  )}</cac:${kind}CommodityClassification>`

const valueOf = (value: Sample['value']): string =>
  value
    ? `<cac:RequestedTenderTotal>${tag(
        'cbc:EstimatedOverallContractAmount',
        value[0],
        `currencyID="${value[1]}"`,
      )}</cac:RequestedTenderTotal>`
    : ''

/** Writes the eForms document of a sample. */
export function documentOf(sample: Sample): string {
  const root = sample.kind === 'planning' ? 'PriorInformationNotice' : 'ContractNotice'
  const { language, procedure, cpv } = sample
  const languageAttribute = `languageID="${language}"`
  return `<?xml version="1.0" encoding="UTF-8"?>
<${root} xmlns="${UBL}:${root}-2" ${NAMESPACES}>
<ext:UBLExtensions><ext:UBLExtension><ext:ExtensionContent><efext:EformsExtension>
${changesOf(sample, languageAttribute)}<efac:Organizations><efac:Organization><efac:Company>
<cac:PartyIdentification>${tag('cbc:ID', 'ORG-0001')}</cac:PartyIdentification>
<cac:PartyName>${tag('cbc:Name', sample.buyer.name, languageAttribute)}</cac:PartyName>
<cac:PostalAddress>${tag('cbc:CountrySubentityCode', sample.buyer.nuts)}
<cac:Country>${tag('cbc:IdentificationCode', sample.buyer.country)}</cac:Country>
</cac:PostalAddress>
</efac:Company></efac:Organization></efac:Organizations>
<efac:Publication>${tag('efbc:NoticePublicationID', sample.number, 'schemeName="ojs-notice-id"')}
${tag('efbc:GazetteID', sample.ojs)}${tag('efbc:PublicationDate', `${sample.published}Z`)}
</efac:Publication>
</efext:EformsExtension></ext:ExtensionContent></ext:UBLExtension></ext:UBLExtensions>
${tag('cbc:CustomizationID', 'eforms-sdk-1.13')}${tag('cbc:ID', sample.notice)}
${procedure ? tag('cbc:ContractFolderID', procedure) : ''}
${tag('cbc:VersionID', sample.version)}${tag('cbc:RegulatoryDomain', '32014L0025')}
${tag('cbc:NoticeTypeCode', sample.type, `listName="${sample.kind}"`)}
${tag('cbc:NoticeLanguageCode', language)}
<cac:ContractingParty><cac:ContractingActivity>${tag('cbc:ActivityTypeCode', sample.activity)}
</cac:ContractingActivity><cac:Party><cac:PartyIdentification>${tag('cbc:ID', 'ORG-0001')}
</cac:PartyIdentification></cac:Party></cac:ContractingParty>
<cac:TenderingProcess>${tag('cbc:ProcedureCode', 'open')}</cac:TenderingProcess>
<cac:ProcurementProject>${tag('cbc:Name', sample.title, languageAttribute)}${valueOf(sample.value)}
${cpv.map((code, at) => cpvOf(at === 0 ? 'Main' : 'Additional', code)).join('')}
</cac:ProcurementProject>
${sample.lots.map((lot) => lotOf(lot, languageAttribute)).join('\n')}
</${root}>
`
}

const lotOf = (lot: SampleLot, languageAttribute: string): string => `<cac:ProcurementProjectLot>
${tag('cbc:ID', lot.id, 'schemeName="Lot"')}<cac:TenderingTerms>${
  lot.documents
    ? `<cac:CallForTendersDocumentReference><cac:Attachment><cac:ExternalReference>${tag(
        'cbc:URI',
        lot.documents,
      )}</cac:ExternalReference></cac:Attachment></cac:CallForTendersDocumentReference>`
    : ''
}</cac:TenderingTerms>
<cac:TenderingProcess><cac:TenderSubmissionDeadlinePeriod>${tag('cbc:EndDate', lot.deadline[0])}
${tag('cbc:EndTime', lot.deadline[1])}</cac:TenderSubmissionDeadlinePeriod></cac:TenderingProcess>
<cac:ProcurementProject>${tag('cbc:Name', lot.title, languageAttribute)}${valueOf(lot.value)}
${cpvOf('Main', lot.cpv)}</cac:ProcurementProject></cac:ProcurementProjectLot>`

const changesOf = ({ changes }: Sample, languageAttribute: string): string =>
  changes
    ? `<efac:Changes>${tag('efbc:ChangedNoticeIdentifier', changes.reference)}
<efac:Change>${tag('efbc:ChangeDescription', changes.text, languageAttribute)}<efac:ChangedSection>
${tag('efbc:ChangedSectionIdentifier', changes.section)}</efac:ChangedSection></efac:Change>
<efac:ChangeReason>${tag('cbc:ReasonCode', changes.reason)}</efac:ChangeReason></efac:Changes>
`
    : ''
