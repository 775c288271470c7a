/** Content of a fictional notice; omitted members have defaults. */
export interface Fiction {
  /** `101-2026` */
  readonly number: string
  /** `2026-03-02` */
  readonly day: string
  readonly ojs: string
  /** UUID of the notice. @defaultValue derived from its number */
  readonly uuid?: string
  readonly version?: string
  readonly procedure?: string
  readonly cpv?: string
  readonly title?: string
  readonly deadline?: string
  /** Changed notice: a number, or UUID-NN. */
  readonly changes?: string
}

const UBL = 'urn:oasis:names:specification:ubl:schema:xsd'
const EFORMS = 'http://data.europa.eu/p27'

/** Returns a UUID derived from a number. */
export const uuidOf = (number: string, kind = 'a'): string => {
  const digits = number.replace('-', '').padStart(12, '0')
  return `${kind.repeat(8)}-0000-4000-8000-${digits}`
}

/** Returns a small contract notice in eForms XML with a fictional buyer. */
export function eformsNotice(fiction: Fiction): string {
  const { number, day, ojs, deadline = '2026-04-20', version = '01', changes } = fiction
  const [ordinal = '', year = ''] = number.split('-')
  const { uuid = uuidOf(number), procedure = uuidOf(number, 'b'), cpv = '09310000' } = fiction
  const title = fiction.title ?? `Fictional electricity ${number}`
  return `<?xml version="1.0" encoding="UTF-8"?>
<ContractNotice xmlns="${UBL}:ContractNotice-2"
 xmlns:cac="${UBL}:CommonAggregateComponents-2" xmlns:cbc="${UBL}:CommonBasicComponents-2"
 xmlns:efac="${EFORMS}/eforms-ubl-extension-aggregate-components/1"
 xmlns:efbc="${EFORMS}/eforms-ubl-extension-basic-components/1"
 xmlns:efext="${EFORMS}/eforms-ubl-extensions/1" xmlns:ext="${UBL}:CommonExtensionComponents-2">
<ext:UBLExtensions><ext:UBLExtension><ext:ExtensionContent><efext:EformsExtension>
${changes === undefined ? '' : changed(changes)}
<efac:NoticeSubType><cbc:SubTypeCode listName="notice-subtype">16</cbc:SubTypeCode>
</efac:NoticeSubType>
<efac:Organizations><efac:Organization><efac:Company>
<cac:PartyIdentification><cbc:ID schemeName="organization">ORG-0001</cbc:ID>
</cac:PartyIdentification>
<cac:PartyName><cbc:Name languageID="ENG">Fictional Grid Office</cbc:Name></cac:PartyName>
<cac:PostalAddress><cac:Country><cbc:IdentificationCode>AUT</cbc:IdentificationCode></cac:Country>
</cac:PostalAddress></efac:Company></efac:Organization></efac:Organizations>
<efac:Publication><efbc:NoticePublicationID schemeName="ojs-notice-id">\
${ordinal.padStart(8, '0')}-${year}</efbc:NoticePublicationID>
<efbc:GazetteID schemeName="ojs-id">${ojs}</efbc:GazetteID>
<efbc:PublicationDate>${day}+01:00</efbc:PublicationDate></efac:Publication>
</efext:EformsExtension></ext:ExtensionContent></ext:UBLExtension></ext:UBLExtensions>
<cbc:CustomizationID>eforms-sdk-1.10</cbc:CustomizationID>
<cbc:ID schemeName="notice-id">${uuid}</cbc:ID>
<cbc:ContractFolderID>${procedure}</cbc:ContractFolderID>
<cbc:IssueDate>${day}+01:00</cbc:IssueDate><cbc:IssueTime>09:00:00+01:00</cbc:IssueTime>
<cbc:VersionID>${version}</cbc:VersionID>
<cbc:RegulatoryDomain>32014L0025</cbc:RegulatoryDomain>
<cbc:NoticeTypeCode listName="competition">cn-standard</cbc:NoticeTypeCode>
<cbc:NoticeLanguageCode listName="language">ENG</cbc:NoticeLanguageCode>
<cac:ContractingParty><cac:Party><cac:PartyIdentification><cbc:ID>ORG-0001</cbc:ID>
</cac:PartyIdentification></cac:Party></cac:ContractingParty>
<cac:TenderingProcess><cbc:ProcedureCode>open</cbc:ProcedureCode></cac:TenderingProcess>
${project(title, cpv)}
<cac:ProcurementProjectLot><cbc:ID schemeName="Lot">LOT-0001</cbc:ID>
<cac:TenderingProcess><cac:TenderSubmissionDeadlinePeriod>
<cbc:EndDate>${deadline}+02:00</cbc:EndDate><cbc:EndTime>12:00:00+02:00</cbc:EndTime>
</cac:TenderSubmissionDeadlinePeriod></cac:TenderingProcess>
${project(title, cpv)}
</cac:ProcurementProjectLot></ContractNotice>`
}

const project = (title: string, cpv: string): string => `<cac:ProcurementProject>
<cbc:Name languageID="ENG">${title}</cbc:Name>
<cbc:ProcurementTypeCode listName="contract-nature">supplies</cbc:ProcurementTypeCode>
<cac:MainCommodityClassification>
<cbc:ItemClassificationCode listName="cpv">${cpv}</cbc:ItemClassificationCode>
</cac:MainCommodityClassification></cac:ProcurementProject>`

const changed = (reference: string): string => `<efac:Changes>
<efbc:ChangedNoticeIdentifier>${reference}</efbc:ChangedNoticeIdentifier>
<efac:Change>
<efbc:ChangeDescription languageID="ENG">The deadline is later.</efbc:ChangeDescription>
<efac:ChangedSection><efbc:ChangedSectionIdentifier>LOT-0001</efbc:ChangedSectionIdentifier>
</efac:ChangedSection></efac:Change>
<efac:ChangeReason><cbc:ReasonCode listName="change-corrig-justification">cor-buy</cbc:ReasonCode>
</efac:ChangeReason></efac:Changes>`
