import type { Mail } from './queue.ts'

/** The mail by which somebody signs in. @param link with the token; it works once */
export const signInMail = (to: string, host: string, link: string, minutes: number): Mail => ({
  to,
  subject: `Sign in to ${host}`,
  text: [
    `Somebody, probably you, wants to sign in to ${host} with this address.`,
    '',
    `Open this link within ${minutes} minutes, and confirm there:`,
    '',
    link,
    '',
    'It works once. If it was not you, do nothing: without the link nobody can sign in.',
    '',
  ].join('\n'),
})
