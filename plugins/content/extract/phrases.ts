/** Longer lines are the author's own. */
const LENGTH_MAX = 220

/** How lines begin that lead elsewhere, in several languages. */
const BEGINNINGS = `
  read more|read also|also read|read next|read:|see also|also see|also:|more:|related:
  |related articles?|related stories|don['’]?t miss|recommended|must read|you may also like
  |you might also like|click here|sign up|subscribe|follow us|follow @|like this story|share this
  |share on|tell us|get (?:the|our|your) .{0,40}(?:newsletter|delivered|app)|download (?:the|our)
  |join our|watch:|watch (?:now|video|the video)|listen:|photos?:|image:|picture:|credit:|source:
  |via:|tags?:|topics?:|filed under|posted in|categories:|published|updated|last updated
  |first published|last modified|advertise?ment|advert|sponsored|ad$|loading|continue reading
  |story continues|article continues|this slideshow requires|editor['’]s picks?|print recipe
  |never miss the latest|copyright|©|all rights reserved|reporting by|comments?$|\\d+ comments?
  |leave a (?:comment|reply)|lesen sie auch|mehr zum thema|lesetipp|siehe auch|weiterlesen
  |anzeige$|werbung$|foto:|bild:|quelle:|lire aussi|à lire|a lire|voir aussi|publicité$
  |lea también|lee también|le puede interesar|te puede interesar|ver también|publicidad$
  |leia também|leia mais|veja também|saiba mais|leggi anche|guarda anche|pubblicità$|czytaj też
  |czytaj także|zobacz też|reklama$|lees ook|читайте также|смотрите также|подробнее|реклама$|фото:
  |источник:|подпис
`
const BEGINS = new RegExp(`^[^\\p{L}\\d©@]*(?:${BEGINNINGS.replace(/\s*\n\s*/g, '').trim()})`, 'iu')

/** A line of up to six capitalized words after a `by`. */
const NAME = "\\p{Lu}[\\p{L}.'’-]+"
const BYLINE = new RegExp(
  `^(?:By|Von|Par|Por|Di|Da|Door|Av|Autor) (?:${NAME}(?:,? (?:and |und |et |y |e )?|$)){1,6}$`,
  'u',
)

/** Whether a line of a body leads elsewhere, or speaks of the page rather than of its subject. */
export const isAside = (line: string, linkShare: number): boolean =>
  (line.length <= LENGTH_MAX || linkShare > 0.5) && (BEGINS.test(line) || BYLINE.test(line))
