import { html } from '../web/html.ts'
import { CSP, layout, type PageText } from '../web/layout.ts'
import type { RestReply } from './route.ts'

/** The two pages of a sign-in by mail. They need no script. */

const reply = (text: PageText): RestReply => ({
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Security-Policy': CSP,
  },
  body: Buffer.from(layout(text, { sandbox: false }).text),
})

/** Asks for a click: programs that look through mails follow links, but press no button. */
export const confirmPage = (email: string, token: string, action: string): RestReply =>
  reply({
    title: 'Sign in',
    main: html`<h1>Sign in to AgentHub</h1>
<p class="lead">You are about to sign in as <strong>${email}</strong>.</p>
<form method="post" action="${action}"><input type="hidden" name="token" value="${token}">
<button type="submit">Sign in</button></form>`,
  })

export const signedInPage = (): RestReply =>
  reply({
    title: 'You are signed in',
    main: html`<h1>You are signed in</h1>
<p class="lead">You can close this page, or go on to your account.</p>`,
  })
