import type { z } from 'zod'
import type { Role } from '../../core/identity/roles.ts'
import type { Session } from '../../core/identity/sessions.ts'
import type { InProcessApi } from '../rest/in-process.ts'
import type { DataAge } from './data-age.ts'
import type { Html } from './html.ts'
import type { PageContent } from './layout.ts'

/** Request for a page; params, query and session are already checked against its declaration. */
export interface PageRequest<Query = unknown> {
  /** Path without the query. Forms return to it. */
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  /** Signed-in session; always set on pages without `access`. */
  readonly session: Session | undefined
  /** Age of the data that the page shows; `api` adds to it. */
  readonly dataAge: DataAge
  /** Calls a REST route with the rights of the signed-in account. */
  readonly api: InProcessApi
  /** Form of this page that was submitted and rejected. */
  readonly submission: Submission | undefined
  /** Page with a form that waits for the visitor to sign in again. */
  readonly returnTo: string | undefined
  /** One-time secret to show on this page, such as a new API key. */
  readonly secret: string | undefined
  readonly ip: string
  readonly requestId: string
  /** `User-Agent` header. */
  readonly agent: string
}

/** Submitted form, rendered again with its values and errors. */
export interface Submission {
  /** Name of the form in `actions` of the page. */
  readonly act: string
  readonly values: Readonly<Record<string, string>>
  /** Error messages by field name. */
  readonly errors: Readonly<Record<string, string>>
  readonly message: string
}

/** Redirect (303) to another page. */
export interface Redirect {
  readonly to: string
}

/** Result of a successful form: a redirect, so that reloading does not submit it again. */
export interface FormRedirect extends Redirect {
  /** Path of the next page; `?done=` selects one of its `notices`. */
  readonly to: string
  /** One-time secret shown on the next page. */
  readonly secret?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
}

/** Result of a form that changes nothing: a message shown above the page. */
export interface FormMessage {
  readonly message: Html
}

/** Handler of one form of a page. */
export interface FormAction<Fields = unknown> {
  /** Schema of its fields; browsers send every value as text. @defaultValue no fields */
  readonly fields?: z.ZodType<Fields>
  /** @throws Fault, shown above the page together with the form as it was submitted */
  readonly run: (request: PageRequest, fields: Fields) => Promise<FormRedirect | FormMessage>
}

/** Declares a form action. The type of `fields` follows from its schema. */
export const formAction = <Fields>(spec: FormAction<Fields>): FormAction =>
  spec as unknown as FormAction

/** File download instead of a page. */
export interface FileContent {
  readonly file: string
  readonly type: string
  readonly text: string
}

export interface Page<Query = unknown> {
  /** `/services/{slug}` */
  readonly path: string
  /** @defaultValue no query parameters */
  readonly query?: z.ZodType<Query>
  /** `public`: everyone, cacheable. `personal`: everyone. @defaultValue signed-in visitors */
  readonly access?: 'public' | 'personal'
  /** Form actions by the value of the hidden field `act`. */
  readonly actions?: Readonly<Record<string, FormAction>>
  /** Role that its forms require. @defaultValue finance at `/finance`, admin at `/admin` */
  readonly changesBy?: Role
  /** Success messages after a form, by the value of `?done=`. */
  readonly notices?: Readonly<Record<string, string | Html>>
  /** @throws Fault, rendered as an error page */
  readonly render: (request: PageRequest<Query>) => Promise<PageContent | FileContent | Redirect>
}

export type AnyPage = Page<unknown>

/** Declares a page. The type of `query` follows from its schema. */
export const page = <Query>(path: string, spec: Omit<Page<Query>, 'path'>): AnyPage =>
  ({ path, ...spec }) as unknown as AnyPage

/** Returns the session of a page without `access`. */
export function requireSession({ session }: Pick<PageRequest, 'session'>): Session {
  if (!session) throw new TypeError('the page does not require a session')
  return session
}
