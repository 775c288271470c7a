import { ROLES, type Role } from '../../core/identity/roles.ts'
import { html } from './html.ts'
import type { PageContent } from './layout.ts'
import type { AnyPage } from './page.ts'
import type { Visitor } from './visitor.ts'

const AREA_ROLES: readonly (readonly [prefix: string, role: Role])[] = [
  ['/finance', 'finance'],
  ['/admin', 'admin'],
]

/** Role that the forms of a page require; undefined outside the areas of staff. */
const requiredRoleOf = ({ path, actions, changesBy }: AnyPage): Role | undefined =>
  actions && (changesBy ?? AREA_ROLES.find(([prefix]) => path.startsWith(prefix))?.[1])

/** Tells staff above a page that their role can read it, and not use its forms. */
export function withRoleNote(
  content: PageContent,
  page: AnyPage,
  visitor: Visitor | undefined,
): PageContent {
  const required = requiredRoleOf(page)
  const role = visitor?.role
  if (required === undefined || role === undefined) return content
  const sufficient = ROLES.slice(0, ROLES.indexOf(required) + 1)
  if (sufficient.includes(role)) return content
  const changing = sufficient.toReversed().join(' or ')
  const note = html`<div class="box fair" role="note"><p>Your role (${role}) can read this page.
Changes need the role ${changing}, which an administrator grants.</p></div>`
  return { ...content, main: html`${note}${content.main}` }
}
