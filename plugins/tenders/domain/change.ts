import type { FieldId, FieldValue, Text } from '../model.ts'
import type { Event, Signal, Verification } from './enums.ts'

/** A change of a tender; members are named as in the response. */
export interface Change {
  readonly id: string
  readonly event: Event
  readonly signal: Signal
  readonly verification_status: Verification
  readonly procedure_id: string | null
  readonly title: string | null
  readonly title_lang: string | null
  readonly buyer: string | null
  readonly country: string | null
  readonly countries: readonly string[]
  readonly cpv: string | null
  readonly lot_id: string | null
  /** Lots with the same change. */
  readonly lot_ids: readonly string[]
  /** Lots in the buyer's words, if they could not be identified. */
  readonly lot_text: string | null
  readonly field: FieldId
  readonly before: FieldValue
  readonly after: FieldValue
  readonly published_at: string
  readonly reason_codes: readonly string[]
  readonly evidence: Evidence
  readonly commercial_impact: Impact
  readonly official_links: OfficialLinks & { readonly changed: OfficialLinks | null }
  /** Publication numbers, the older one first. */
  readonly affected_notice_ids: readonly string[]
  /** UUIDs of the same notices, with their versions; null for older forms. */
  readonly notice_ids: readonly (string | null)[]
}

export interface Evidence {
  readonly method: 'structured_diff' | 'official_text' | 'f14_old_new' | 'result_code'
  readonly source_publication_number: string
  readonly changed_publication_number: string | null
  /** The notice that this notice claims to change, stored or not. */
  readonly reference: string | null
  readonly xpath: string
  readonly reason_codes: readonly string[]
  readonly official_text: readonly Text[]
  /** Hashes of the documents as published. */
  readonly sha256: { readonly source: string; readonly changed: string | null }
}

export interface Impact {
  readonly level: 'high' | 'medium' | 'low'
  readonly summary: string
  readonly days_delta: number | null
  /** For deadlines with known instants. */
  readonly hours_delta: number | null
  readonly value_delta: string | null
  readonly value_delta_pct: number | null
  /** Advice for bidders. */
  readonly action: string
}

export interface OfficialLinks {
  readonly html: string
  readonly pdf: string
  readonly xml: string
}

/** URL of a notice in the official journal. */
export const linksOf = (number: string): OfficialLinks => ({
  html: `https://ted.europa.eu/en/notice/-/detail/${number}`,
  pdf: `https://ted.europa.eu/en/notice/${number}/pdf`,
  xml: `https://ted.europa.eu/en/notice/${number}/xml`,
})

const LOT = "/*/cac:ProcurementProjectLot[cbc:ID='{lot}']"
const EXTENSION = '/*/ext:UBLExtensions/ext:UBLExtension/ext:ExtensionContent/efext:EformsExtension'
const PROJECT: Readonly<Partial<Record<FieldId, string>>> = {
  'BT-27': 'cac:RequestedTenderTotal/cbc:EstimatedOverallContractAmount',
  'BT-271': 'cac:RequestedTenderTotal//efbc:FrameworkMaximumAmount',
  'BT-21': 'cbc:Name',
  'BT-23': 'cbc:ProcurementTypeCode',
  'BT-262': 'cac:MainCommodityClassification/cbc:ItemClassificationCode',
  'BT-263': 'cac:AdditionalCommodityClassification/cbc:ItemClassificationCode',
  'BT-5071': 'cac:RealizedLocation/cac:Address/cbc:CountrySubentityCode',
}
const OTHER: Readonly<Partial<Record<FieldId, string>>> = {
  'BT-131': `${LOT}/cac:TenderingProcess/cac:TenderSubmissionDeadlinePeriod/cbc:EndDate`,
  'BT-1311': `${LOT}/cac:TenderingProcess/cac:ParticipationRequestReceptionPeriod/cbc:EndDate`,
  'BT-630': `${LOT}/cac:TenderingProcess//efac:InterestExpressionReceptionPeriod/cbc:EndDate`,
  'BT-15': `${LOT}/cac:TenderingTerms/cac:CallForTendersDocumentReference//cbc:URI`,
  'BT-18': `${LOT}/cac:TenderingTerms/cac:TenderRecipientParty/cbc:EndpointID`,
  'BT-137': '/*/cac:ProcurementProjectLot/cbc:ID',
  'BT-718': `${EXTENSION}/efac:Changes/efac:Change/efbc:ProcurementDocumentsChangeIndicator`,
  'BT-140': `${EXTENSION}/efac:Changes/efac:ChangeReason/cbc:ReasonCode`,
  'BT-141': `${EXTENSION}/efac:Changes/efac:Change/efbc:ChangeDescription`,
  'BT-142': `${EXTENSION}/efac:NoticeResult/efac:LotResult/cbc:TenderResultCode`,
  'BT-1501': `${EXTENSION}/efac:ContractModification/efbc:ChangedNoticeIdentifier`,
}

/** XPath of the new value in the document. */
export function xpathOf(field: FieldId, lotId: string | null): string {
  const project = PROJECT[field]
  const place = lotId === null ? '/*' : LOT
  const path = project ? `${place}/cac:ProcurementProject/${project}` : (OTHER[field] ?? '/*')
  return path.replace("[cbc:ID='{lot}']", lotId === null ? '' : `[cbc:ID='${lotId}']`)
}
