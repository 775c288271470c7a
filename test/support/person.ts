import { type ApiResponse, ask, type RequestOptions } from './ask.ts'
import type { Mailbox } from './mailbox.ts'

/** Signed-in account: requests carry its session cookie and the origin of the hub. */
export interface Person {
  readonly email: string
  readonly cookie: string
  ask(path: string, question?: RequestOptions): Promise<ApiResponse>
}

export const tokenIn = (text: string): string => /[?&]token=([\w-]+)/.exec(text)?.[1] ?? ''

export const cookieOf = ({ headers }: ApiResponse): string =>
  String(headers['set-cookie'] ?? '').split(';')[0] ?? ''

/** Signs in with the link of an email. */
export async function signIn(url: string, mailbox: Mailbox, email: string): Promise<Person> {
  const mailCount = mailbox.mails.filter(({ to }) => to.includes(email)).length
  const requested = await ask(url, '/v1/account/sign-in', { body: { email } })
  if (requested.status !== 202) throw new Error(`sign-in: ${requested.text}`)
  const { text } = await mailbox.next(email, mailCount)
  const confirmed = await ask(url, '/v1/account/confirm', { body: { token: tokenIn(text) } })
  if (confirmed.status !== 201) throw new Error(`confirm: ${confirmed.text}`)
  return personWith(url, email, cookieOf(confirmed))
}

export const personWith = (url: string, email: string, cookie: string): Person => ({
  email,
  cookie,
  ask: (path, question = {}) =>
    ask(url, path, {
      ...question,
      headers: { cookie, origin: new URL(url).origin, ...question.headers },
    }),
})
