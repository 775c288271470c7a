import { parseDocument } from 'htmlparser2'
import { eformsFacts } from './eforms-facts.ts'
import { formFacts } from './form-facts.ts'
import { type NamedFacts, tagsOf } from './named-facts.ts'

/** Reads the facts of a notice from its XML, by a parser and paths of its own. */
export function documentFacts(xml: string): NamedFacts {
  const root = tagsOf(parseDocument(xml, { xmlMode: true }))[0]
  if (!root) return []
  return root.name === 'TED_EXPORT' ? formFacts(root) : eformsFacts(root)
}
