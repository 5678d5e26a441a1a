import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { requirementsFolder } from '#test/support/python-package.ts'
import { testReceiver } from './receiver-tests.ts'
import { guide } from './receivers.ts'

// The campaign tests the endpoints in Go, which takes a minute to compile, and in shell, which needs openssl.
testReceiver('TypeScript')
testReceiver('Python')

test('the guide installs the libraries that the tests use', () => {
  const { devDependencies } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
  )
  expect(guide).toContain(`npm install standardwebhooks@${devDependencies.standardwebhooks}`)
  const required = readFileSync(join(requirementsFolder, 'standardwebhooks.in'), 'utf8').trim()
  expect(guide).toContain(`pip install ${required}`)
})
