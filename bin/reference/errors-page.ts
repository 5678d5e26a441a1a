import { type ErrorCode, errorCatalog, messageId } from '#shared/error-catalog.ts'
import { adviceOf, adviceOfFamily } from './error-advice.ts'
import { escaped } from './page.ts'

/** Returns the page of error codes with their status, whether the same request may be sent again, and advice. */
export function errorsPage(): string {
  const families = Map.groupBy(Object.keys(errorCatalog) as ErrorCode[], (code) => code.split('.')[0] ?? '')
  const sections = [...families].map(
    ([family, codes]) => `<h2 id="${family}">${family}</h2>
<p>${escaped(adviceOfFamily[family] ?? '')}</p>
<table><thead><tr><th>Code</th><th>Status</th><th>Retryable</th><th>What to do</th></tr></thead>
<tbody>${codes.map(row).join('')}</tbody></table>`,
  )
  return `<h1>Errors</h1>
<p>All errors share one envelope. <code>message_id</code> is <code>error.</code> and the code in lower case, for example <code>${messageId('CONFLICT.code.exists')}</code>.</p>
${sections.join('\n')}`
}

function row(code: ErrorCode): string {
  const { http, retryable } = errorCatalog[code]
  return `<tr id="${code}"><td class="code"><code>${code}</code></td><td>${http}</td><td>${retryable ? 'yes' : 'no'}</td><td>${escaped(adviceOf[code])}</td></tr>`
}
