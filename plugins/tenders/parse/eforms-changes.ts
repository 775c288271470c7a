import type { ChangedSection, Changes } from '../model.ts'
import { distinct, isTrue, referenceOf, textsOf } from './values.ts'
import type { Node } from './xml.ts'

/** Reads the declared changes; null if it is no change notice. */
export function changesOf(extension: Node, language: string): Changes | null {
  const changes = extension.first('efac:Changes')
  if (!changes) return null
  return {
    reference: referenceOf(changes.text('efbc:ChangedNoticeIdentifier')),
    reasons: distinct(changes.texts('efac:ChangeReason/cbc:ReasonCode')),
    reasonTexts: textsOf(changes.all('efac:ChangeReason/efbc:ReasonDescription'), language),
    sections: changes.all('efac:Change').map((change) => sectionOf(change, language)),
  }
}

/** The section stands one level deeper from SDK 1.7 on. */
const sectionOf = (change: Node, language: string): ChangedSection => ({
  ids: distinct([
    ...change.texts('efac:ChangedSection/efbc:ChangedSectionIdentifier'),
    ...change.texts('efbc:ChangedSectionIdentifier'),
  ]),
  texts: textsOf(change.all('efbc:ChangeDescription'), language),
  documents: isTrue(change.text('efbc:ProcurementDocumentsChangeIndicator')),
  documentsDate: change.text('efbc:ProcurementDocumentsChangeDate')?.slice(0, 10) ?? null,
})
