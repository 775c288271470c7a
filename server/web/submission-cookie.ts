import type { Context } from 'koa'
import { z } from 'zod'
import { buildCookie, cookieName } from '../rest/cookie.ts'

const FORM = 'form'

/** Form of a visitor who must sign in again, in an HttpOnly cookie; the hub stores nothing. */
const LIFETIME_SECONDS = 1_800
/** Browsers limit a cookie to 4,096 bytes. */
const MAX_LENGTH = 3_800

const StoredForm = z.tuple([
  z.string().regex(/^\/(?![/\\])/),
  z.string(),
  z.record(z.string(), z.string()),
])

/** Submitted form, and the page that shows it. */
export interface KeptForm {
  /** Path and query of its page. */
  readonly to: string
  readonly act: string
  readonly values: Readonly<Record<string, string>>
}

/** `Lax`, because the link in the mail leads back from another site. */
const cookieOf = (baseUrl: string, value: string, seconds: number): string =>
  buildCookie(baseUrl, { name: FORM, value, seconds, sameSite: 'Lax' })

/** Keeps a form until the visitor has signed in again; only its page if the form is too long. */
export function keepForm(ctx: Context, baseUrl: string, { to, act, values }: KeptForm): void {
  const encode = (form: z.infer<typeof StoredForm>) =>
    Buffer.from(JSON.stringify(form)).toString('base64url')
  const whole = encode([to, act, { ...values }])
  const value = whole.length <= MAX_LENGTH ? whole : encode([to, '', {}])
  if (value.length <= MAX_LENGTH) {
    ctx.append('Set-Cookie', cookieOf(baseUrl, value, LIFETIME_SECONDS))
  }
}

/** Returns the kept form, if there is one. */
export function readKeptForm(ctx: Context, baseUrl: string): KeptForm | undefined {
  const value = ctx.cookies.get(cookieName(baseUrl, FORM))
  if (value === undefined) return undefined
  try {
    const [to, act, values] = StoredForm.parse(
      JSON.parse(Buffer.from(value, 'base64url').toString()),
    )
    return { to, act, values }
  } catch {
    return undefined
  }
}

/** Deletes the kept form. */
export const dropKeptForm = (ctx: Context, baseUrl: string): void =>
  ctx.append('Set-Cookie', cookieOf(baseUrl, '', 0))
