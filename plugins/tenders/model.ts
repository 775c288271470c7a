/** Normalized content of a notice of the official journal, with raw text where needed. */

/** Form types of eForms (codelist form-type); `planning` … `completion`. */
export const KINDS = [
  'planning',
  'consultation',
  'competition',
  'dir-awa-pre',
  'result',
  'cont-modif',
  'completion',
] as const
export type Kind = (typeof KINDS)[number]
/** Kinds of notices that announce something to compete for, now or later. */
export const CALL_KINDS: ReadonlySet<string> = new Set(['planning', 'consultation', 'competition'])

/** In the words and the language of the buyer; `lang` is ISO 639-2/T, as in `deu`. */
export interface Text {
  readonly lang: string
  readonly text: string
}

/** Decimal text, never converted. Withheld: the buyer does not publish it; there is no number. */
export type Amount =
  | { readonly amount: string; readonly currency: string }
  | { readonly amount: null; readonly currency: null; readonly withheld: true }

export type DeadlineKind = 'tenders' | 'requests' | 'expressions'

/** The end of a period for tenders, requests to participate or expressions of interest. */
export interface Deadline {
  readonly kind: DeadlineKind
  /** RFC 3339 with the valid offset; null if the source has none and none is certain. */
  readonly at: string | null
  /** Local time of the buyer: `2023-11-27T09:00`, or `2023-11-27` without a time. */
  readonly local: string
  readonly dateRaw: string
  readonly timeRaw: string | null
  /** Date and time have different offsets. */
  readonly conflict: boolean
  /** The offset is not the legal one of the buyer's country on that day. */
  readonly suspect: boolean
  /** The source has no offset; taken from the buyer's country, which has only one. */
  readonly inferred: boolean
  /** The first and the last instant that the source can mean, in ms since 1970. */
  readonly earliest: number
  readonly latest: number
}

/** A link as it can be followed, and as it was written. */
export interface Link {
  readonly url: string
  readonly raw: string
}

export interface Place {
  /** ISO 3166-1 alpha-3. */
  readonly countries: readonly string[]
  readonly nuts: readonly string[]
}

/** Main codes first; eight digits without check digit. */
export interface Cpv {
  readonly main: string | null
  readonly additional: readonly string[]
}

export interface Buyer {
  readonly name: string
  readonly id: string | null
  readonly country: string | null
  readonly nuts: string | null
}

export interface Lot {
  readonly id: string
  readonly title: readonly Text[]
  readonly nature: string | null
  readonly cpv: Cpv
  readonly place: Place
  readonly estimated: Amount | null
  readonly frameworkMax: Amount | null
  readonly deadlines: readonly Deadline[]
  readonly documents: Link | null
  readonly documentsRestricted: boolean
  readonly submission: Link | null
  /** Deadlines that are no dates, as written; the lot may be open or not. */
  readonly unreadableDeadlines?: readonly string[]
  /** Codes of the codelists framework-agreement and dps-usage. */
  readonly framework: string | null
  readonly dps: string | null
}

/** Declaration of an official change notice (BT-758, 140, 762, 141, 13716, 718, 719). */
export interface Changes {
  /** Publication number, or UUID-NN; null if the notice names none. */
  readonly reference: string | null
  readonly reasons: readonly string[]
  readonly reasonTexts: readonly Text[]
  readonly sections: readonly ChangedSection[]
}

export interface ChangedSection {
  /** `PROCEDURE`, `LOT-0001` …; empty for the notice as a whole. */
  readonly ids: readonly string[]
  readonly texts: readonly Text[]
  readonly documents: boolean
  readonly documentsDate: string | null
}

/** A field with its old and its new value, as F14 has them; the values are normalized. */
export interface Correction {
  readonly field: FieldId
  /** Null for the procedure, and if `lotIds` or `lotText` says more. */
  readonly lotId: string | null
  /** Set if it names several lots. */
  readonly lotIds?: readonly string[]
  /** Lots in the words of the buyer. */
  readonly lotText?: string
  readonly before: FieldValue
  readonly after: FieldValue
  /** Set if it is the deadline for tenders. */
  readonly deadline: Deadline | null
}

export interface Winner {
  readonly name: string
  readonly country: string | null
}

export interface LotResult {
  readonly lotId: string | null
  /** Codelist winner-selection-status; null if withheld. */
  readonly status: string | null
  readonly winners: readonly Winner[]
  readonly value: Amount | null
  /** Maximum (BT-709) and estimate (BT-660) of a framework agreement. */
  readonly frameworkMax?: Amount | null
  readonly frameworkEstimated?: Amount | null
  readonly tenders: number | null
}

export interface Result {
  readonly total: Amount | null
  readonly totalRange?: { readonly low: Amount; readonly high: Amount } | null
  readonly frameworkMax: Amount | null
  /** Estimate of all framework agreements (BT-1118). */
  readonly frameworkEstimated?: Amount | null
  /** Groups of lots with a common maximum (BT-156) or estimate (BT-1561). */
  readonly groups?: readonly LotGroup[]
  readonly lots: readonly LotResult[]
}

export interface LotGroup {
  readonly groupId: string | null
  readonly frameworkMax: Amount | null
  readonly frameworkEstimated: Amount | null
}

export interface Notice {
  /** As shown: `657639-2023`. */
  readonly number: string
  /** The schema of the document, as in `eforms-sdk-1.10` or `R2.0.9.S03.E01`. */
  readonly schema: string
  readonly ojs: string | null
  /** `2023-10-27` */
  readonly publishedOn: string
  readonly noticeId: string | null
  readonly version: string | null
  readonly procedureId: string | null
  /** `bri`: about a company, not about a procurement. */
  readonly kind: Kind | 'bri'
  /** Codelist notice-type (`cn-standard`), or the legacy form (`F02`). */
  readonly type: string
  readonly subtype: string | null
  readonly legalBasis: string | null
  readonly language: string
  readonly title: readonly Text[]
  readonly nature: string | null
  readonly buyers: readonly Buyer[]
  readonly activities: readonly string[]
  readonly place: Place
  readonly cpv: Cpv
  readonly procedureType: string | null
  readonly accelerated: boolean
  readonly estimated: Amount | null
  readonly frameworkMax: Amount | null
  readonly lots: readonly Lot[]
  readonly changes: Changes | null
  readonly corrections: readonly Correction[]
  readonly result: Result | null
  /** Day on which a qualification system ends, such as `2026-01-31`. */
  readonly endsOn?: string | null
  /** A planning notice whose procurement has ended (BT-756). */
  readonly terminated: boolean
  /** Earlier notices of the same procurement (OPP-090, BT-125). */
  readonly previous: readonly string[]
  /** Words and units of energy that the titles and descriptions hold: for the relevance score. */
  readonly energyWords: readonly string[]
  /** Countries of all buyers, if they cannot be assigned. */
  readonly buyerCountries?: readonly string[]
  /** Oddities of the document, which is used nevertheless. */
  readonly flags?: readonly string[]
  /** True if known only from the search because the document is unavailable. */
  readonly partial?: true
}

/** Comparable fields of a tender, by eForms business term. */
export type FieldId =
  | 'BT-131'
  | 'BT-1311'
  | 'BT-630'
  | 'BT-27'
  | 'BT-271'
  | 'BT-15'
  | 'BT-18'
  | 'BT-21'
  | 'BT-23'
  | 'BT-262'
  | 'BT-263'
  | 'BT-5071'
  | 'BT-137'
  | 'BT-718'
  | 'BT-140'
  | 'BT-142'
  | 'BT-1501'
  | 'BT-141'

/** A value before or after a change. */
export type FieldValue =
  | { readonly type: 'instant'; readonly at: string | null; readonly local: string }
  | { readonly type: 'amount'; readonly amount: string | null; readonly currency: string | null }
  | { readonly type: 'url'; readonly url: string; readonly raw: string }
  | { readonly type: 'code'; readonly code: string }
  | { readonly type: 'codes'; readonly codes: readonly string[] }
  | { readonly type: 'text'; readonly texts: readonly Text[] }
  | null

/** Content of a document; an unpublished example has neither number nor date. */
export type Document = Omit<Notice, 'number' | 'publishedOn'> & {
  readonly number: string | null
  readonly publishedOn: string | null
}
