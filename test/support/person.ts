import { ask, type Question, type Told } from './ask.ts'
import type { Mailbox } from './mailbox.ts'

/** Somebody with a browser: it keeps the cookie, and says where its pages are from. */
export interface Person {
  readonly email: string
  readonly cookie: string
  ask(path: string, question?: Question): Promise<Told>
}

export const tokenIn = (text: string): string => /[?&]token=([\w-]+)/.exec(text)?.[1] ?? ''

export const cookieOf = ({ headers }: Told): string =>
  String(headers['set-cookie'] ?? '').split(';')[0] ?? ''

/** Signs somebody in by a mail. */
export async function signIn(url: string, mailbox: Mailbox, email: string): Promise<Person> {
  const seen = mailbox.mails.filter(({ to }) => to.includes(email)).length
  const asked = await ask(url, '/v1/account/sign-in', { body: { email } })
  if (asked.status !== 202) throw new Error(`sign-in: ${asked.text}`)
  const { text } = await mailbox.next(email, seen)
  const told = await ask(url, '/v1/account/confirm', { body: { token: tokenIn(text) } })
  if (told.status !== 201) throw new Error(`confirm: ${told.text}`)
  return personWith(url, email, cookieOf(told))
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
