/** The two plain pages of a sign-in by mail. They need no script and no picture. */

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`

const escape = (text: string): string =>
  text.replace(/[&<>"']/g, (char) => `&#${char.codePointAt(0)};`)

/** Asks for a click: programs that look through mails follow links, but press no button. */
export const confirmPage = (email: string, token: string, action: string): string =>
  page(
    'Sign in to AgentHub',
    `<p>You are about to sign in as <strong>${escape(email)}</strong>.</p>
<form method="post" action="${escape(action)}">
<input type="hidden" name="token" value="${escape(token)}">
<button type="submit">Sign in</button>
</form>`,
  )

export const signedInPage = (): string =>
  page('You are signed in', '<p>You can close this page, or go on to your account.</p>')
