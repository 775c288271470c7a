import type { z } from 'zod'
import type { Session } from '../../core/identity/sessions.ts'
import type { Inside } from '../rest/inside.ts'
import type { Html } from './html.ts'
import type { PageText } from './layout.ts'

/** A request for a page, with everything that the page declares already checked. */
export interface PageRequest<Query = unknown> {
  /** Where it was asked for, without the query: forms lead back to it. */
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  /** Who is signed in; always there on pages of a person. */
  readonly session: Session | undefined
  /** The routes of REST, asked for whoever looks. */
  readonly ask: Inside
  /** A form of the page that was sent, and did not pass. */
  readonly sent: Sent | undefined
  /** What the page is to show this once. */
  readonly secret: string | undefined
  readonly ip: string
  /** What the browser calls itself. */
  readonly agent: string
}

/** A form as it was sent, to be shown again with what was wrong in it. */
export interface Sent {
  /** Which form of the page. */
  readonly act: string
  readonly values: Readonly<Record<string, string>>
  /** By the name of the field. */
  readonly errors: Readonly<Record<string, string>>
  readonly message: string
}

/** Where a form that passed leads to: another page, so that no reload sends it again. */
export interface Done {
  /** A path; `?done=` names one of the texts that the page there has in `done`. */
  readonly to: string
  /** Shown there, this once. */
  readonly secret?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What a form that changes nothing has to tell: it stands at the top of the page. */
export interface Told {
  readonly told: Html
}

/** What a form of a page does. */
export interface Act<Fields = unknown> {
  /** What its fields have to be; all come as texts. */
  readonly fields: z.ZodType<Fields>
  /** @throws Fault, which is shown on the page, with the form as it was sent */
  readonly run: (request: PageRequest, fields: Fields) => Promise<Done | Told>
}

/** Declares what a form does. The type of `fields` follows from its schema. */
export const act = <Fields>(spec: Act<Fields>): Act => spec as unknown as Act

/** A file instead of a page. */
export interface FileText {
  readonly file: string
  readonly type: string
  readonly text: string
}

/** Another page instead of this one. */
export interface Elsewhere {
  readonly to: string
}

/** A page for people. */
export interface Page<Query = unknown> {
  /** `/services/{slug}` */
  readonly path: string
  readonly query: z.ZodType<Query>
  /** Not alike for everybody: nobody keeps it. */
  readonly own?: boolean
  /** For whoever is signed in; others are led to where one signs in. */
  readonly person?: boolean
  /** Its forms, by the name that they send as `act`. */
  readonly acts?: Readonly<Record<string, Act>>
  /** What is said after a form has passed, by the name that `?done=` has. */
  readonly done?: Readonly<Record<string, string | Html>>
  /** @throws Fault, which is shown as a page too */
  readonly show: (request: PageRequest<Query>) => Promise<PageText | FileText | Elsewhere>
}

export type AnyPage = Page<unknown>

/** Declares a page. The type of `query` follows from its schema. */
export const page = <Query>(spec: Page<Query>): AnyPage => spec as unknown as AnyPage

/** Who is signed in, on a page of a person. */
export function personOn({ session }: Pick<PageRequest, 'session'>): Session {
  if (!session) throw new TypeError('not the page of a person')
  return session
}
