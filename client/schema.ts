/** The types of openapi.json, written by `npm run client-types`: change the routes, not this file. */

export interface paths {
    "/v1/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List orders
         * @description Returns one page of the orders of a tenant, newest first by default. Follow next_cursor with the same filters: no order is repeated or skipped, and orders placed after the first page was read are not included. An API key needs the scope `orders:read`.
         */
        get: operations["listOrders"];
        put?: never;
        /**
         * Place an order
         * @description Places an order in the caller’s tenant. Repeating a request with the same Idempotency-Key and body returns the first response and places nothing. An API key needs the scope `orders:write`.
         */
        post: operations["createOrder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/orders/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an order
         * @description Returns one order with its entity tag. An order of another tenant gets the same response as one that does not exist. An API key needs the scope `orders:read`.
         */
        get: operations["readOrder"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/refunds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refund a charge
         * @description Refunds a charge, or a part of it. Requests with the same Idempotency-Key create one refund, one payout and one ledger entry, even after failures. If the provider rejects the refund, every retry returns the same error. While the provider is unavailable, the refund stays pending, and a retry continues it. An API key needs the scope `refunds:write`.
         */
        post: operations["createRefund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Receive an event
         * @description Receives an event of another service. The signature covers the exact bytes of the body. The event is stored before the response and handled afterwards. A repeated event gets the same response and changes nothing.
         */
        post: operations["receiveEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List discount codes
         * @description Returns one page of the codes of a tenant, newest first by default, or sorted by their text. Soft-deleted codes are included only if the request asks for them and the role may see them. An API key needs the scope `codes:read`.
         */
        get: operations["listCodes"];
        put?: never;
        /**
         * Create a discount code
         * @description Creates a code in the caller’s tenant. The code is trimmed and stored in upper case, and is unique in its tenant; the name is trimmed and NFC-normalized, and its length counts Unicode code points. An API key needs the scope `codes:write`.
         */
        post: operations["createCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/codes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a discount code
         * @description Returns one code with its entity tag. A code of another tenant gets the same response as one that does not exist. An API key needs the scope `codes:read`.
         */
        get: operations["readCode"];
        put?: never;
        post?: never;
        /**
         * Soft-delete a discount code; delete a discount code permanently
         * @description Soft-deletes a code: it disappears from lists and can be restored. Deleting it again changes nothing and returns the same response. An API key needs the scope `codes:write`. Delete a discount code permanently: Deletes the code permanently. Only the audit record remains, and the text of the code can be used again. A header states the reason for the audit. An API key needs the scope `codes:write`.
         */
        delete: operations["deleteCode"];
        options?: never;
        head?: never;
        /**
         * Update a discount code
         * @description Changes the name or the expiry of a code. If-Match carries the entity tag that the caller has read. Of several updates with the same tag, only the first succeeds. An API key needs the scope `codes:write`.
         */
        patch: operations["updateCode"];
        trace?: never;
    };
    "/codes/{id}:restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a discount code
         * @description Restores a soft-deleted code. An API key needs the scope `codes:write`.
         */
        post: operations["restoreCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/codes/{id}:share": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Share a discount code
         * @description Writes an audit record of a share. An Editor may share within the tenant, an Admin with any tenant. Sharing grants no permissions. An API key needs the scope `codes:write`.
         */
        post: operations["shareCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/codes:export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export discount codes as CSV
         * @description Returns the codes of a tenant as a CSV file, oldest first. If the file is too large for a response, the response redirects to a short-lived link to it. Cells that a spreadsheet would run as formulas are prefixed with an apostrophe; an import removes it. An API key needs the scope `codes:read`.
         */
        get: operations["exportCodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/codes:import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import discount codes from CSV
         * @description Creates a code for each row of a CSV file with a header and returns one result per row. A row that fails does not affect other rows. Exported files can be imported; their additional columns are ignored. After a failure, a retry with the same Idempotency-Key continues with the remaining rows. An API key needs the scope `codes:write`.
         */
        post: operations["importCodes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/codes:bulkUpdate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Update many discount codes
         * @description Updates each code separately, like PATCH /codes/{id}, and returns one result per code. After a failure, a retry with the same Idempotency-Key continues with the remaining codes. An API key needs the scope `codes:write`.
         */
        post: operations["bulkUpdateCodes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/discount/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify a discount code
         * @description Returns whether a code applies, and its discount in minor units. If a header names a cart, the code is applied to that cart once, even if it is verified repeatedly; the settings limit the total discount of a cart. Without a cart, only the code is checked: nothing is applied and the amount is 0. An unknown, expired or deleted code gets the same response as any other code that does not apply. An API key needs the scope `discounts:verify`.
         */
        post: operations["verifyDiscount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/otp/request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Request a one-time code
         * @description Sends a code to an e-mail address. The code is valid for five minutes, or until a new one is requested. Every address gets the same response.
         */
        post: operations["requestOtp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/otp/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify a one-time code
         * @description Starts a session if the code is the latest one of the address, and sets the session cookie and the CSRF cookie. A code works once. A wrong, used, expired or superseded code, too many attempts, and an address without a code get the same response.
         */
        post: operations["verifyOtp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log in with a password
         * @description Returns the tokens of a user. A wrong password, an unknown e-mail address and an account that is disabled, locked or needs a new password get the same response. A second factor or a new password is entered at the identity provider. An Idempotency-Key is ignored, because tokens are not stored for a replay.
         */
        post: operations["signIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/password/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Request a password reset
         * @description Sends a mail with a code that lets a user set a new password at the identity provider. Every e-mail address gets the same response; whether a user has it is checked only afterwards.
         */
        post: operations["resetPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/imports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import customers
         * @description Starts the import of a CSV file of customers with a header. The body is the file, or its https URL. The response contains the id of the operation to poll. An invalid row is rejected and does not affect other rows. A file that was imported or is being imported is not imported again: the response contains the first operation and the header Idempotency-Status: replayed. A file whose import failed or was canceled is imported again. A tenant that exceeds its limit of operations in progress gets 429 with Retry-After. An API key needs the scope `imports:write`.
         */
        post: operations["createImport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations/{operation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an operation
         * @description Returns the progress of an operation. An ended import has a result with its counts, its first rejected rows and a link to all of them, or the error that ended it. Retry-After states when to poll again. An API key needs the scope `operations:read`.
         */
        get: operations["readOperation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations/{operation_id}:cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel an operation
         * @description Stops an operation after its work in progress. The operation ends as canceled, with the counts of its completed work. Canceling an ended operation, or canceling twice, changes nothing. An API key needs the scope `imports:write`.
         */
        post: operations["cancelOperation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check whether the service is up
         * @description Returns 200 when the service is up.
         */
        get: operations["readHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        BulkResult: {
            items: components["schemas"]["RowResult"][];
            counts: components["schemas"]["RowCounts"];
        };
        BulkUpdate: {
            /** @description Each item is {id, if_match, name?, expiry_at?}: the id of a code, its entity tag as the caller has read it, and the changed fields. */
            items: components["schemas"]["DiscountCodeUpdate"][];
        };
        Credentials: {
            /** Format: email */
            email: string;
            password: string;
        };
        Discount: {
            applied: boolean;
            amount: number;
        };
        DiscountCode: {
            id: string;
            code: string;
            type: string;
            name: string;
            /** Format: date-time */
            expiry_at: string;
            created_by: string;
            tenant_id: string;
            soft_deleted: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @enum {string} */
            state: "draft" | "active" | "archived" | "soft_deleted";
        };
        DiscountCodeChanges: {
            name?: string;
            /** Format: date-time */
            expiry_at?: string;
            state?: unknown;
            id?: unknown;
            code?: unknown;
            type?: unknown;
            created_by?: unknown;
            tenant_id?: unknown;
            soft_deleted?: unknown;
            created_at?: unknown;
            updated_at?: unknown;
        };
        DiscountCodeList: {
            data: components["schemas"]["DiscountCode"][];
            page_size: number;
            next_cursor: string | null;
            prev_cursor: string | null;
            count: number | null;
            /** @enum {string} */
            count_strategy?: "exact" | "approximate";
            sort: string;
        };
        DiscountCodeUpdate: Record<string, never>;
        DiscountRequest: {
            code: string;
        };
        Error: {
            error: components["schemas"]["ErrorBody"];
        };
        ErrorBody: {
            /** @enum {string} */
            code: "AUTH.invalid_credentials" | "AUTH.token.expired" | "AUTHZ.csrf.origin" | "AUTHZ.csrf.token" | "AUTHZ.field.denied" | "AUTHZ.filter.denied" | "AUTHZ.request.denied" | "AUTHZ.role.denied" | "AUTHZ.scope.tenant" | "AUTHZ.scope.token" | "CODE.invalid" | "CONFLICT.code.exists" | "CONFLICT.code.not_combinable" | "CONFLICT.etag.mismatch" | "CONFLICT.idempotency.in_progress" | "CONFLICT.idempotency.payload_mismatch" | "CONFLICT.not_deleted" | "CONFLICT.soft_deleted" | "DEPENDENCY.bad_gateway" | "DEPENDENCY.timeout" | "DEPENDENCY.unavailable" | "GONE.code" | "GONE.order" | "GONE.version" | "INTERNAL.unexpected" | "NOT_FOUND.cart" | "NOT_FOUND.charge" | "NOT_FOUND.code" | "NOT_FOUND.operation" | "NOT_FOUND.order" | "NOT_FOUND.refund" | "NOT_FOUND.route" | "POLICY.account.locked" | "POLICY.code.currency" | "POLICY.code.expired" | "POLICY.code.inactive" | "POLICY.export.row_limit" | "POLICY.legal_hold" | "POLICY.mfa.required" | "POLICY.password.change_required" | "POLICY.refund.declined" | "POLICY.refund.exceeds_charge" | "POLICY.refund.no_account" | "POLICY.refund.repeated" | "PROVIDER.duplicate" | "RATE_LIMIT.exceeded" | "TRANSIENT.error" | "VALIDATION.accept.unsupported" | "VALIDATION.body.encoding" | "VALIDATION.body.invalid" | "VALIDATION.body.json" | "VALIDATION.body.too_deep" | "VALIDATION.body.too_large" | "VALIDATION.code.charset" | "VALIDATION.code.length.exceeds" | "VALIDATION.content_type.unsupported" | "VALIDATION.csv.columns" | "VALIDATION.csv.header" | "VALIDATION.csv.malformed" | "VALIDATION.csv.row_too_long" | "VALIDATION.csv.too_many_rows" | "VALIDATION.cursor.invalid" | "VALIDATION.date.range" | "VALIDATION.datetime.timezone_required" | "VALIDATION.email" | "VALIDATION.field.enum" | "VALIDATION.field.format" | "VALIDATION.field.length" | "VALIDATION.field.range" | "VALIDATION.field.required" | "VALIDATION.field.type" | "VALIDATION.field.unknown" | "VALIDATION.filter.unknown_key" | "VALIDATION.filter.value_invalid" | "VALIDATION.header.invalid" | "VALIDATION.idempotency_key.charset" | "VALIDATION.idempotency_key.length" | "VALIDATION.idempotency_key.required" | "VALIDATION.if_match.required" | "VALIDATION.name.charset" | "VALIDATION.name.length.exceeds" | "VALIDATION.page_size.invalid" | "VALIDATION.page_size.max" | "VALIDATION.page_size.min" | "VALIDATION.reason.required" | "VALIDATION.request.invalid" | "VALIDATION.sort.field" | "VALIDATION.url.private_range";
            message_id: string;
            http: number;
            retryable: boolean;
            correlation_id: string;
            details: components["schemas"]["ErrorDetails"];
        };
        ErrorDetails: {
            /** @description The reason why each field was rejected. */
            fields?: {
                [key: string]: components["schemas"]["FieldProblem"];
            };
        };
        FieldProblem: {
            reason: string;
            min?: number;
            max?: number;
        };
        Health: {
            /** @constant */
            status: "pass";
        };
        ImportResult: {
            /** @enum {string} */
            outcome: "SUCCESS" | "PARTIAL" | "FAILED";
            counts: components["schemas"]["RowCounts"];
            rejects: components["schemas"]["RejectedRow"][];
            /**
             * Format: uri
             * @description A CSV file of all rejected rows. Valid for 300 s.
             */
            rejects_url?: string;
            schema_version: number;
        };
        NewDiscountCode: {
            code: string;
            /** @enum {string} */
            type: "percent-10" | "percent-25" | "fixed-500";
            name: string;
            /** Format: date-time */
            expiry_at: string;
        };
        NewImport: {
            /** Format: uri */
            file_url: string;
        };
        NewOrder: {
            cart_id: string;
            amount_minor: number;
            /** @enum {string} */
            currency: "AED" | "AFN" | "ALL" | "AMD" | "ANG" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
        };
        NewRefund: {
            charge_id: string;
            amount: number;
        };
        NoFields: Record<string, never>;
        Operation: {
            operation_id: string;
            /** @enum {string} */
            state: "pending" | "running" | "succeeded" | "failed" | "canceled";
            progress: number;
            result?: components["schemas"]["ImportResult"];
            error?: components["schemas"]["OperationError"];
        };
        OperationError: {
            code: string;
            message_id: string;
            http: number;
            retryable: boolean;
            correlation_id: string;
            details: {
                [key: string]: unknown;
            };
        };
        OperationStatus: {
            operation_id: string;
            /** @enum {string} */
            state: "pending" | "running" | "succeeded" | "failed" | "canceled";
            progress: number;
        };
        Order: {
            id: string;
            tenant_id: string;
            cart_id: string;
            amount_minor: number;
            currency: string;
            /** @enum {string} */
            status: "active" | "paid" | "cancelled";
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        OrderList: {
            data: components["schemas"]["Order"][];
            page_size: number;
            next_cursor: string | null;
            prev_cursor: string | null;
            count: number | null;
            /** @enum {string} */
            count_strategy?: "exact" | "approximate";
            sort: string;
        };
        OtpRequest: {
            /** Format: email */
            email: string;
        };
        OtpStatus: {
            message_id: string;
        };
        OtpVerification: {
            /** Format: email */
            email: string;
            code: string;
        };
        PasswordReset: {
            /** Format: email */
            email: string;
        };
        PasswordResetStatus: {
            message_id: string;
        };
        Refund: {
            id: string;
            charge_id: string;
            amount: number;
            /** @enum {string} */
            status: "pending" | "succeeded" | "failed";
            /** Format: date-time */
            created_at: string;
        };
        RejectedRow: {
            row: number;
            code: string;
            field: string | null;
        };
        RowCounts: {
            total: number;
            succeeded: number;
            failed: number;
        };
        RowError: {
            code: string;
            message_id: string;
            http: number;
            retryable: boolean;
            details: {
                [key: string]: unknown;
            };
        };
        RowResult: {
            row: number;
            id: string | null;
            status: number;
            error?: components["schemas"]["RowError"];
        };
        Session: {
            session_id: string;
        };
        Share: {
            grantee_tenant: string;
        };
        Tokens: {
            access_token: string;
            token_type: string;
            expires_in: number;
            refresh_token: string;
        };
        WebhookEvent: {
            event_id: string;
            type: string;
            /** Format: date-time */
            occurred_at: string;
            data: components["schemas"]["WebhookEventData"];
            source?: string;
            source_service?: string;
            version?: number;
            correlation_id?: string;
            traceparent?: string;
            tracestate?: string;
            baggage?: string;
        };
        WebhookEventData: {
            id: string;
        } & {
            [key: string]: unknown;
        };
    };
    responses: {
        /** @description The known version is current. */
        NotModified: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                ETag: components["headers"]["ETag"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description The result is at the address in Location. */
        SeeOther: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                Location: components["headers"]["Location"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description Bad Request */
        BadRequest: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "VALIDATION.body.invalid",
                 *         "message_id": "error.validation.body.invalid",
                 *         "http": 400,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Payload Too Large */
        PayloadTooLarge: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "VALIDATION.body.too_large",
                 *         "message_id": "error.validation.body.too_large",
                 *         "http": 413,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Unsupported Media Type */
        UnsupportedMediaType: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "VALIDATION.content_type.unsupported",
                 *         "message_id": "error.validation.content_type.unsupported",
                 *         "http": 415,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Not Acceptable */
        NotAcceptable: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "VALIDATION.accept.unsupported",
                 *         "message_id": "error.validation.accept.unsupported",
                 *         "http": 406,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Precondition Required */
        PreconditionRequired: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "VALIDATION.if_match.required",
                 *         "message_id": "error.validation.if_match.required",
                 *         "http": 428,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Unauthorized */
        Unauthorized: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                "WWW-Authenticate": components["headers"]["Challenge"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "AUTH.invalid_credentials",
                 *         "message_id": "error.auth.invalid_credentials",
                 *         "http": 401,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Forbidden */
        Forbidden: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "AUTHZ.role.denied",
                 *         "message_id": "error.authz.role.denied",
                 *         "http": 403,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Conflict */
        Conflict: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "POLICY.legal_hold",
                 *         "message_id": "error.policy.legal_hold",
                 *         "http": 409,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Precondition Failed */
        PreconditionFailed: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "CONFLICT.etag.mismatch",
                 *         "message_id": "error.conflict.etag.mismatch",
                 *         "http": 412,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Not Found */
        NotFound: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "NOT_FOUND.order",
                 *         "message_id": "error.not_found.order",
                 *         "http": 404,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Gone */
        Gone: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "GONE.order",
                 *         "message_id": "error.gone.order",
                 *         "http": 410,
                 *         "retryable": false,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Too Many Requests */
        TooManyRequests: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "RATE_LIMIT.exceeded",
                 *         "message_id": "error.rate_limit.exceeded",
                 *         "http": 429,
                 *         "retryable": true,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Bad Gateway */
        BadGateway: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "DEPENDENCY.bad_gateway",
                 *         "message_id": "error.dependency.bad_gateway",
                 *         "http": 502,
                 *         "retryable": true,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Service Unavailable */
        ServiceUnavailable: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "DEPENDENCY.unavailable",
                 *         "message_id": "error.dependency.unavailable",
                 *         "http": 503,
                 *         "retryable": true,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Gateway Timeout */
        GatewayTimeout: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "DEPENDENCY.timeout",
                 *         "message_id": "error.dependency.timeout",
                 *         "http": 504,
                 *         "retryable": true,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Internal Server Error */
        InternalServerError: {
            headers: {
                "X-Correlation-Id": components["headers"]["CorrelationId"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "TRANSIENT.error",
                 *         "message_id": "error.transient.error",
                 *         "http": 500,
                 *         "retryable": true,
                 *         "correlation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "details": {}
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
        Tenant: string;
        /** @description The nonce that the client chose at login; mode bound. */
        Nonce: string;
        /** @description A known entity tag. The response is 304 while it is current. */
        IfNoneMatch: string;
        /** @description The entity tag that the caller has read. The request is rejected if the item has changed since. */
        IfMatch: string;
        /** @description The entity tag that the caller has read. The response is 412 if the item has changed since. * matches any item that exists. */
        IfMatchOptional: string;
        /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
        CorrelationId: string;
        /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
        RequestTimeout: number;
        /** @description W3C Trace Context. */
        Traceparent: string;
        /** @description W3C Trace Context. */
        Tracestate: string;
        /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
        Baggage: string;
    };
    requestBodies: never;
    headers: {
        /** @description Identifies the log lines, audit records and events of the request. */
        CorrelationId: string;
        /** @description stored for the first request with a key, replayed for the others. */
        IdempotencyStatus: "stored" | "replayed";
        /** @description A strong entity tag. */
        ETag: string;
        /** @description Two cookies: the session, and its CSRF token, which scripts can read. */
        SetCookie: string;
        /** @description The address of the created resource. */
        Location: string;
        /** @description Seconds to wait before a retry. */
        RetryAfter: number;
        /** @description How to authenticate (RFC 6750). On AWS, API Gateway sends it as x-amzn-Remapped-WWW-Authenticate. */
        Challenge: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listOrders: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
                /** @description The order. created_at is the time in the id, so both sort alike. */
                sort?: "created_at.desc" | "created_at.asc" | "id.desc" | "id.asc" | "created_at.desc,id.desc" | "created_at.asc,id.asc";
                /** @description The number of items in a page; values above 100 count as 100. */
                page_size?: number;
                /** @description An opaque value from an earlier response. A request reads at most 1000 items, so a page may be short. */
                cursor?: string;
                /** @description Searches cart_id, id for this text, case-insensitively. */
                q?: string;
                /** @description For the roles Admin, Service. Rejected if both are sent and differ. */
                include_deleted?: boolean;
                /** @description For the roles Admin, Service. Rejected if both are sent and differ. */
                deleted?: boolean;
                /** @description id equals this value. */
                id?: string;
                /** @description id is one of these values, separated by commas. */
                "id.in"?: string[];
                /** @description cart_id equals this value. */
                cart_id?: string;
                /** @description cart_id is one of these values, separated by commas. */
                "cart_id.in"?: string[];
                /** @description currency equals this value. */
                currency?: "AED" | "AFN" | "ALL" | "AMD" | "ANG" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
                /** @description currency is one of these values, separated by commas. */
                "currency.in"?: ("AED" | "AFN" | "ALL" | "AMD" | "ANG" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BGN" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHF" | "CLP" | "CNY" | "COP" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "UYU" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAF" | "XCD" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG")[];
                /** @description status equals this value. */
                status?: "active" | "paid" | "cancelled";
                /** @description status is one of these values, separated by commas. */
                "status.in"?: ("active" | "paid" | "cancelled")[];
                /** @description amount_minor equals this value. */
                amount_minor?: number;
                /** @description amount_minor is one of these values, separated by commas. */
                "amount_minor.in"?: number[];
                /** @description amount_minor is at or above this value. */
                "amount_minor.gte"?: number;
                /** @description amount_minor is above this value. */
                "amount_minor.gt"?: number;
                /** @description amount_minor is at or below this value. */
                "amount_minor.lte"?: number;
                /** @description amount_minor is below this value. */
                "amount_minor.lt"?: number;
                /** @description created_at equals this value. */
                created_at?: string;
                /** @description created_at is one of these values, separated by commas. */
                "created_at.in"?: string[];
                /** @description created_at is at or above this value. */
                "created_at.gte"?: string;
                /** @description created_at is above this value. */
                "created_at.gt"?: string;
                /** @description created_at is at or below this value. */
                "created_at.lte"?: string;
                /** @description created_at is below this value. */
                "created_at.lt"?: string;
                /** @description updated_at equals this value. */
                updated_at?: string;
                /** @description updated_at is one of these values, separated by commas. */
                "updated_at.in"?: string[];
                /** @description updated_at is at or above this value. */
                "updated_at.gte"?: string;
                /** @description updated_at is above this value. */
                "updated_at.gt"?: string;
                /** @description updated_at is at or below this value. */
                "updated_at.lte"?: string;
                /** @description updated_at is below this value. */
                "updated_at.lt"?: string;
            };
            header?: {
                /** @description A known entity tag. The response is 304 while it is current. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *           "tenant_id": "acme",
                     *           "cart_id": "cart-1",
                     *           "amount_minor": 1999,
                     *           "currency": "EUR",
                     *           "status": "active",
                     *           "created_at": "2026-11-21T08:39:35.395Z",
                     *           "updated_at": "2026-11-21T08:39:35.395Z"
                     *         }
                     *       ],
                     *       "page_size": 25,
                     *       "next_cursor": "AXmZ0h1k3o5q",
                     *       "prev_cursor": null,
                     *       "count": null,
                     *       "sort": "created_at.desc,id.desc"
                     *     }
                     */
                    "application/json": components["schemas"]["OrderList"];
                };
            };
            304: components["responses"]["NotModified"];
            /** @description VALIDATION.header.invalid, VALIDATION.cursor.invalid, VALIDATION.sort.field, VALIDATION.filter.unknown_key, VALIDATION.filter.value_invalid, VALIDATION.datetime.timezone_required, VALIDATION.page_size.max, VALIDATION.page_size.min, VALIDATION.page_size.invalid, VALIDATION.date.range, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.filter.denied, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createOrder: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-orders.create
                 */
                "Idempotency-Key": string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "cart_id": "cart-1",
                 *       "amount_minor": 1999,
                 *       "currency": "EUR"
                 *     }
                 */
                "application/json": components["schemas"]["NewOrder"];
            };
        };
        responses: {
            /** @description Success. */
            201: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "tenant_id": "acme",
                     *       "cart_id": "cart-1",
                     *       "amount_minor": 1999,
                     *       "currency": "EUR",
                     *       "status": "active",
                     *       "created_at": "2026-11-21T08:39:35.395Z",
                     *       "updated_at": "2026-11-21T08:39:35.395Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Order"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    readOrder: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                /** @description A known entity tag. The response is 304 while it is current. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "tenant_id": "acme",
                     *       "cart_id": "cart-1",
                     *       "amount_minor": 1999,
                     *       "currency": "EUR",
                     *       "status": "active",
                     *       "created_at": "2026-11-21T08:39:35.395Z",
                     *       "updated_at": "2026-11-21T08:39:35.395Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Order"];
                };
            };
            304: components["responses"]["NotModified"];
            /** @description VALIDATION.field.unknown, VALIDATION.header.invalid, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant, NOT_FOUND.order */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description GONE.order */
            410: components["responses"]["Gone"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createRefund: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-refunds.create
                 */
                "Idempotency-Key": string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "charge_id": "ch_1",
                 *       "amount": 500
                 *     }
                 */
                "application/json": components["schemas"]["NewRefund"];
            };
        };
        responses: {
            /** @description Success. */
            201: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "charge_id": "ch_1",
                     *       "amount": 500,
                     *       "status": "succeeded",
                     *       "created_at": "2026-11-21T08:39:35.395Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Refund"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant, NOT_FOUND.charge */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description POLICY.refund.exceeds_charge, POLICY.refund.declined, POLICY.refund.repeated, POLICY.refund.no_account, CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    receiveEvent: {
        parameters: {
            query?: never;
            header?: {
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "event_id": "evt-1",
                 *       "type": "order.paid",
                 *       "occurred_at": "2026-01-01T00:00:00Z",
                 *       "data": {
                 *         "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *         "tenant_id": "acme"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["WebhookEvent"];
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.datetime.timezone_required, VALIDATION.date.range, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials */
            401: components["responses"]["Unauthorized"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    listCodes: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
                /** @description The order. created_at is the time in the id, so both sort alike. code sorts by its characters, then by id. */
                sort?: "created_at.desc" | "created_at.asc" | "id.desc" | "id.asc" | "created_at.desc,id.desc" | "created_at.asc,id.asc" | "code.desc" | "code.asc" | "code.desc,id.desc" | "code.asc,id.asc";
                /** @description The number of items in a page; values above 100 count as 100. */
                page_size?: number;
                /** @description An opaque value from an earlier response. A request reads at most 1000 items, so a page may be short. */
                cursor?: string;
                /** @description Searches code, name for this text, case-insensitively. */
                q?: string;
                /** @description For the roles Admin, Service. Rejected if both are sent and differ. */
                include_deleted?: boolean;
                /** @description For the roles Admin, Service. Rejected if both are sent and differ. */
                deleted?: boolean;
                /** @description Legacy paging. Another name of page_size; rejected together with it. */
                limit?: number;
                /** @description Legacy paging. The number of items to skip; rejected with cursor. */
                offset?: number;
                /** @description id equals this value. */
                id?: string;
                /** @description id is one of these values, separated by commas. */
                "id.in"?: string[];
                /** @description code equals this value. */
                code?: string;
                /** @description code is one of these values, separated by commas. */
                "code.in"?: string[];
                /** @description type equals this value. */
                type?: "percent-10" | "percent-25" | "fixed-500";
                /** @description type is one of these values, separated by commas. */
                "type.in"?: ("percent-10" | "percent-25" | "fixed-500")[];
                /** @description name equals this value. */
                name?: string;
                /** @description name is one of these values, separated by commas. */
                "name.in"?: string[];
                /** @description state equals this value. */
                state?: "draft" | "active" | "archived" | "soft_deleted";
                /** @description state is one of these values, separated by commas. */
                "state.in"?: ("draft" | "active" | "archived" | "soft_deleted")[];
                /** @description created_by equals this value. */
                created_by?: string;
                /** @description created_by is one of these values, separated by commas. */
                "created_by.in"?: string[];
                /** @description tenant_id equals this value. */
                tenant_id?: string;
                /** @description tenant_id is one of these values, separated by commas. */
                "tenant_id.in"?: string[];
                /** @description soft_deleted equals this value. */
                soft_deleted?: boolean;
                /** @description expiry_at equals this value. */
                expiry_at?: string;
                /** @description expiry_at is one of these values, separated by commas. */
                "expiry_at.in"?: string[];
                /** @description expiry_at is at or above this value. */
                "expiry_at.gte"?: string;
                /** @description expiry_at is above this value. */
                "expiry_at.gt"?: string;
                /** @description expiry_at is at or below this value. */
                "expiry_at.lte"?: string;
                /** @description expiry_at is below this value. */
                "expiry_at.lt"?: string;
                /** @description created_at equals this value. */
                created_at?: string;
                /** @description created_at is one of these values, separated by commas. */
                "created_at.in"?: string[];
                /** @description created_at is at or above this value. */
                "created_at.gte"?: string;
                /** @description created_at is above this value. */
                "created_at.gt"?: string;
                /** @description created_at is at or below this value. */
                "created_at.lte"?: string;
                /** @description created_at is below this value. */
                "created_at.lt"?: string;
                /** @description updated_at equals this value. */
                updated_at?: string;
                /** @description updated_at is one of these values, separated by commas. */
                "updated_at.in"?: string[];
                /** @description updated_at is at or above this value. */
                "updated_at.gte"?: string;
                /** @description updated_at is above this value. */
                "updated_at.gt"?: string;
                /** @description updated_at is at or below this value. */
                "updated_at.lte"?: string;
                /** @description updated_at is below this value. */
                "updated_at.lt"?: string;
            };
            header?: {
                /** @description A known entity tag. The response is 304 while it is current. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *           "code": "SUMMER-10",
                     *           "type": "type",
                     *           "name": "Summer sale",
                     *           "expiry_at": "2099-01-01T00:00:00.000Z",
                     *           "created_by": "user-1",
                     *           "tenant_id": "acme",
                     *           "soft_deleted": false,
                     *           "created_at": "2026-11-21T08:39:35.395Z",
                     *           "updated_at": "2026-11-21T08:39:35.395Z",
                     *           "state": "active"
                     *         }
                     *       ],
                     *       "page_size": 25,
                     *       "next_cursor": "AXmZ0h1k3o5q",
                     *       "prev_cursor": null,
                     *       "count": null,
                     *       "sort": "created_at.desc,id.desc"
                     *     }
                     */
                    "application/json": components["schemas"]["DiscountCodeList"];
                };
            };
            304: components["responses"]["NotModified"];
            /** @description VALIDATION.header.invalid, VALIDATION.cursor.invalid, VALIDATION.sort.field, VALIDATION.filter.unknown_key, VALIDATION.filter.value_invalid, VALIDATION.datetime.timezone_required, VALIDATION.page_size.max, VALIDATION.page_size.min, VALIDATION.page_size.invalid, VALIDATION.date.range, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.filter.denied, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-codes.create
                 */
                "Idempotency-Key": string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "code": "SUMMER-10",
                 *       "type": "percent-10",
                 *       "name": "Summer sale",
                 *       "expiry_at": "2099-01-01T00:00:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["NewDiscountCode"];
            };
        };
        responses: {
            /** @description Success. */
            201: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "code": "SUMMER-10",
                     *       "type": "type",
                     *       "name": "Summer sale",
                     *       "expiry_at": "2099-01-01T00:00:00.000Z",
                     *       "created_by": "user-1",
                     *       "tenant_id": "acme",
                     *       "soft_deleted": false,
                     *       "created_at": "2026-11-21T08:39:35.395Z",
                     *       "updated_at": "2026-11-21T08:39:35.395Z",
                     *       "state": "active"
                     *     }
                     */
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.code.length.exceeds, VALIDATION.code.charset, VALIDATION.name.length.exceeds, VALIDATION.name.charset, VALIDATION.filter.value_invalid, VALIDATION.datetime.timezone_required, VALIDATION.date.range, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.code.exists, CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    readCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                /** @description A known entity tag. The response is 304 while it is current. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "code": "SUMMER-10",
                     *       "type": "type",
                     *       "name": "Summer sale",
                     *       "expiry_at": "2099-01-01T00:00:00.000Z",
                     *       "created_by": "user-1",
                     *       "tenant_id": "acme",
                     *       "soft_deleted": false,
                     *       "created_at": "2026-11-21T08:39:35.395Z",
                     *       "updated_at": "2026-11-21T08:39:35.395Z",
                     *       "state": "active"
                     *     }
                     */
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            304: components["responses"]["NotModified"];
            /** @description VALIDATION.field.unknown, VALIDATION.header.invalid, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant, NOT_FOUND.code */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    deleteCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
                force?: "false" | "true";
            };
            header?: {
                /** @description The entity tag that the caller has read. The response is 412 if the item has changed since. * matches any item that exists. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-codes.delete
                 */
                "Idempotency-Key"?: string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
                /** @description The reason, for the audit. */
                "X-Audit-Log-Reason"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            204: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description VALIDATION.field.unknown, VALIDATION.field.enum, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.filter.value_invalid, VALIDATION.request.invalid, VALIDATION.reason.required */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant, NOT_FOUND.code */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.code.exists, CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description CONFLICT.etag.mismatch */
            412: components["responses"]["PreconditionFailed"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    updateCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                /** @description The entity tag that the caller has read. The request is rejected if the item has changed since. */
                "If-Match": components["parameters"]["IfMatch"];
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-codes.update
                 */
                "Idempotency-Key"?: string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Late summer sale"
                 *     }
                 */
                "application/json": components["schemas"]["DiscountCodeChanges"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "code": "SUMMER-10",
                     *       "type": "type",
                     *       "name": "Summer sale",
                     *       "expiry_at": "2099-01-01T00:00:00.000Z",
                     *       "created_by": "user-1",
                     *       "tenant_id": "acme",
                     *       "soft_deleted": false,
                     *       "created_at": "2026-11-21T08:39:35.395Z",
                     *       "updated_at": "2026-11-21T08:39:35.395Z",
                     *       "state": "active"
                     *     }
                     */
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.name.length.exceeds, VALIDATION.name.charset, VALIDATION.filter.value_invalid, VALIDATION.datetime.timezone_required, VALIDATION.date.range, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.field.denied, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant, NOT_FOUND.code */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.soft_deleted, CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description CONFLICT.etag.mismatch */
            412: components["responses"]["PreconditionFailed"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description VALIDATION.if_match.required */
            428: components["responses"]["PreconditionRequired"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    restoreCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                /** @description The entity tag that the caller has read. The response is 412 if the item has changed since. * matches any item that exists. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-codes.restore
                 */
                "Idempotency-Key": string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["NoFields"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "code": "SUMMER-10",
                     *       "type": "type",
                     *       "name": "Summer sale",
                     *       "expiry_at": "2099-01-01T00:00:00.000Z",
                     *       "created_by": "user-1",
                     *       "tenant_id": "acme",
                     *       "soft_deleted": false,
                     *       "created_at": "2026-11-21T08:39:35.395Z",
                     *       "updated_at": "2026-11-21T08:39:35.395Z",
                     *       "state": "active"
                     *     }
                     */
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant, NOT_FOUND.code */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.not_deleted, CONFLICT.code.exists, CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description CONFLICT.etag.mismatch */
            412: components["responses"]["PreconditionFailed"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    shareCode: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                /** @description The entity tag that the caller has read. The response is 412 if the item has changed since. * matches any item that exists. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-codes.share
                 */
                "Idempotency-Key": string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "grantee_tenant": "acme"
                 *     }
                 */
                "application/json": components["schemas"]["Share"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "code": "SUMMER-10",
                     *       "type": "type",
                     *       "name": "Summer sale",
                     *       "expiry_at": "2099-01-01T00:00:00.000Z",
                     *       "created_by": "user-1",
                     *       "tenant_id": "acme",
                     *       "soft_deleted": false,
                     *       "created_at": "2026-11-21T08:39:35.395Z",
                     *       "updated_at": "2026-11-21T08:39:35.395Z",
                     *       "state": "active"
                     *     }
                     */
                    "application/json": components["schemas"]["DiscountCode"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant, NOT_FOUND.code */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.soft_deleted, CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description CONFLICT.etag.mismatch */
            412: components["responses"]["PreconditionFailed"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    exportCodes: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
                include_deleted?: "true" | "false";
            };
            header?: {
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example id,code,state
                     *     01a1fd42-cae3-748a-b36e-b4be13e970b1,SUMMER-10,active
                     */
                    "text/csv": string;
                };
            };
            303: components["responses"]["SeeOther"];
            /** @description VALIDATION.field.unknown, VALIDATION.field.enum, VALIDATION.header.invalid, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.filter.denied, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description POLICY.export.row_limit */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    importCodes: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-codes.import
                 */
                "Idempotency-Key": string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example code,type,name,expiry_at
                 *     WINTER-10,percent-10,Winter sale,2099-01-01T00:00:00Z
                 */
                "text/csv": string;
            };
        };
        responses: {
            /** @description Success. */
            207: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "row": 1,
                     *           "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *           "status": 201
                     *         }
                     *       ],
                     *       "counts": {
                     *         "total": 2,
                     *         "succeeded": 1,
                     *         "failed": 1
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.filter.value_invalid, VALIDATION.csv.header, VALIDATION.csv.malformed, VALIDATION.csv.too_many_rows, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    bulkUpdateCodes: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-codes.bulk-update
                 */
                "Idempotency-Key": string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "items": [
                 *         {
                 *           "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                 *           "if_match": "\"1\"",
                 *           "name": "Summer sale"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["BulkUpdate"];
            };
        };
        responses: {
            /** @description Success. */
            207: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "row": 1,
                     *           "id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *           "status": 201
                     *         }
                     *       ],
                     *       "counts": {
                     *         "total": 2,
                     *         "succeeded": 1,
                     *         "failed": 1
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    verifyDiscount: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header: {
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-discount.verify
                 */
                "Idempotency-Key": string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "code": "SUMMER-10"
                 *     }
                 */
                "application/json": components["schemas"]["DiscountRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "applied": true,
                     *       "amount": 500
                     *     }
                     */
                    "application/json": components["schemas"]["Discount"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.code.length.exceeds, VALIDATION.code.charset, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, AUTHZ.csrf.token, AUTHZ.csrf.origin, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant, NOT_FOUND.cart */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.code.not_combinable, CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    requestOtp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-otp.request
                 */
                "Idempotency-Key"?: string;
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "jane@example.com"
                 *     }
                 */
                "application/json": components["schemas"]["OtpRequest"];
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1"
                     *     }
                     */
                    "application/json": components["schemas"]["OtpStatus"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.email, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    verifyOtp: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-otp.verify
                 */
                "Idempotency-Key"?: string;
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "jane@example.com",
                 *       "code": "123456"
                 *     }
                 */
                "application/json": components["schemas"]["OtpVerification"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Set-Cookie": components["headers"]["SetCookie"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "session_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1"
                     *     }
                     */
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.email, VALIDATION.request.invalid, CODE.invalid */
            400: components["responses"]["BadRequest"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: {
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "jane@example.com",
                 *       "password": "a long one, with 1 digit and Capitals"
                 *     }
                 */
                "application/json": components["schemas"]["Credentials"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "access_token": "eyJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJ1MSJ9.c2lnbmF0dXJl",
                     *       "token_type": "Bearer",
                     *       "expires_in": 3600,
                     *       "refresh_token": "eyJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJ1MSJ9.c2lnbmF0dXJl"
                     *     }
                     */
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.email, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials */
            401: components["responses"]["Unauthorized"];
            /** @description POLICY.mfa.required, POLICY.account.locked, POLICY.password.change_required */
            403: components["responses"]["Forbidden"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    resetPassword: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-login.reset-password
                 */
                "Idempotency-Key"?: string;
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "jane@example.com"
                 *     }
                 */
                "application/json": components["schemas"]["PasswordReset"];
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1"
                     *     }
                     */
                    "application/json": components["schemas"]["PasswordResetStatus"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.email, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    createImport: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-imports.create
                 */
                "Idempotency-Key"?: string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example email,name,country
                 *     jane@example.com,Jane,DE
                 */
                "text/csv": string;
                /**
                 * @example {
                 *       "file_url": "https://example.com/customers.csv"
                 *     }
                 */
                "application/json": components["schemas"]["NewImport"];
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    Location: components["headers"]["Location"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "operation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "state": "pending",
                     *       "progress": 0
                     *     }
                     */
                    "application/json": components["schemas"]["OperationStatus"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.filter.value_invalid, VALIDATION.url.private_range, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    readOperation: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                /** @description A known entity tag. The response is 304 while it is current. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                operation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "operation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "state": "succeeded",
                     *       "progress": 1,
                     *       "result": {
                     *         "outcome": "PARTIAL",
                     *         "counts": {
                     *           "total": 2,
                     *           "succeeded": 1,
                     *           "failed": 1
                     *         },
                     *         "rejects": [
                     *           {
                     *             "row": 1,
                     *             "code": "VALIDATION.email",
                     *             "field": "email"
                     *           }
                     *         ],
                     *         "rejects_url": "https://files.example.com/rejects.csv?X-Amz-Signature=0f1e2d3c",
                     *         "schema_version": 1
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Operation"];
                };
            };
            304: components["responses"]["NotModified"];
            /** @description VALIDATION.field.unknown, VALIDATION.header.invalid, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant, NOT_FOUND.operation */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    cancelOperation: {
        parameters: {
            query?: {
                /** @description The tenant of the request. An Admin may name any tenant, others only their own. */
                tenant?: components["parameters"]["Tenant"];
            };
            header?: {
                /** @description The entity tag that the caller has read. The response is 412 if the item has changed since. * matches any item that exists. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
                /**
                 * @description Makes retries safe: requests with the same key have one effect and the same response.
                 * @example try-operations.cancel
                 */
                "Idempotency-Key"?: string;
                /** @description The nonce that the client chose at login; mode bound. */
                "X-Token-Nonce"?: components["parameters"]["Nonce"];
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path: {
                operation_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["NoFields"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    "Idempotency-Status": components["headers"]["IdempotencyStatus"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "operation_id": "01a1fd42-cae3-748a-b36e-b4be13e970b1",
                     *       "state": "succeeded",
                     *       "progress": 1,
                     *       "result": {
                     *         "outcome": "PARTIAL",
                     *         "counts": {
                     *           "total": 2,
                     *           "succeeded": 1,
                     *           "failed": 1
                     *         },
                     *         "rejects": [
                     *           {
                     *             "row": 1,
                     *             "code": "VALIDATION.email",
                     *             "field": "email"
                     *           }
                     *         ],
                     *         "rejects_url": "https://files.example.com/rejects.csv?X-Amz-Signature=0f1e2d3c",
                     *         "schema_version": 1
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Operation"];
                };
            };
            /** @description VALIDATION.body.invalid, VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.body.encoding, VALIDATION.field.required, VALIDATION.field.unknown, VALIDATION.field.type, VALIDATION.field.length, VALIDATION.field.range, VALIDATION.field.enum, VALIDATION.field.format, VALIDATION.header.invalid, VALIDATION.idempotency_key.required, VALIDATION.idempotency_key.length, VALIDATION.idempotency_key.charset, VALIDATION.filter.value_invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description AUTH.invalid_credentials, AUTH.token.expired */
            401: components["responses"]["Unauthorized"];
            /** @description AUTHZ.role.denied, AUTHZ.scope.token, AUTHZ.request.denied, POLICY.mfa.required */
            403: components["responses"]["Forbidden"];
            /** @description AUTHZ.scope.tenant, NOT_FOUND.operation */
            404: components["responses"]["NotFound"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description CONFLICT.idempotency.payload_mismatch */
            409: components["responses"]["Conflict"];
            /** @description CONFLICT.etag.mismatch */
            412: components["responses"]["PreconditionFailed"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description VALIDATION.content_type.unsupported */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    readHealth: {
        parameters: {
            query?: never;
            header?: {
                /** @description Accepted if it matches ^[\x21-\x7e]{1,128}$; otherwise the service generates one. */
                "X-Correlation-Id"?: components["parameters"]["CorrelationId"];
                /** @description The time limit of the request, in milliseconds; at most 10000 ms. Less than a second mostly ends in DEPENDENCY.timeout. */
                "X-Request-Timeout"?: components["parameters"]["RequestTimeout"];
                /** @description W3C Trace Context. */
                traceparent?: components["parameters"]["Traceparent"];
                /** @description W3C Trace Context. */
                tracestate?: components["parameters"]["Tracestate"];
                /** @description W3C Baggage. Members beyond 1024 bytes are dropped. It is passed on to events and other services, so it must not contain secrets. */
                baggage?: components["parameters"]["Baggage"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Correlation-Id": components["headers"]["CorrelationId"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "pass"
                     *     }
                     */
                    "application/health+json": components["schemas"]["Health"];
                };
            };
            /** @description VALIDATION.field.unknown, VALIDATION.header.invalid, VALIDATION.request.invalid */
            400: components["responses"]["BadRequest"];
            /** @description VALIDATION.accept.unsupported */
            406: components["responses"]["NotAcceptable"];
            /** @description VALIDATION.body.too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description RATE_LIMIT.exceeded */
            429: components["responses"]["TooManyRequests"];
            /** @description TRANSIENT.error, INTERNAL.unexpected */
            500: components["responses"]["InternalServerError"];
            /** @description DEPENDENCY.bad_gateway */
            502: components["responses"]["BadGateway"];
            /** @description DEPENDENCY.unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description DEPENDENCY.timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
}
export type BulkResult = components['schemas']['BulkResult']
export type BulkUpdate = components['schemas']['BulkUpdate']
export type Credentials = components['schemas']['Credentials']
export type Discount = components['schemas']['Discount']
export type DiscountCode = components['schemas']['DiscountCode']
export type DiscountCodeChanges = components['schemas']['DiscountCodeChanges']
export type DiscountCodeList = components['schemas']['DiscountCodeList']
export type DiscountCodeUpdate = components['schemas']['DiscountCodeUpdate']
export type DiscountRequest = components['schemas']['DiscountRequest']
export type ErrorBody = components['schemas']['ErrorBody']
export type ErrorDetails = components['schemas']['ErrorDetails']
export type FieldProblem = components['schemas']['FieldProblem']
export type Health = components['schemas']['Health']
export type ImportResult = components['schemas']['ImportResult']
export type NewDiscountCode = components['schemas']['NewDiscountCode']
export type NewImport = components['schemas']['NewImport']
export type NewOrder = components['schemas']['NewOrder']
export type NewRefund = components['schemas']['NewRefund']
export type NoFields = components['schemas']['NoFields']
export type Operation = components['schemas']['Operation']
export type OperationError = components['schemas']['OperationError']
export type OperationStatus = components['schemas']['OperationStatus']
export type Order = components['schemas']['Order']
export type OrderList = components['schemas']['OrderList']
export type OtpRequest = components['schemas']['OtpRequest']
export type OtpStatus = components['schemas']['OtpStatus']
export type OtpVerification = components['schemas']['OtpVerification']
export type PasswordReset = components['schemas']['PasswordReset']
export type PasswordResetStatus = components['schemas']['PasswordResetStatus']
export type Refund = components['schemas']['Refund']
export type RejectedRow = components['schemas']['RejectedRow']
export type RowCounts = components['schemas']['RowCounts']
export type RowError = components['schemas']['RowError']
export type RowResult = components['schemas']['RowResult']
export type Session = components['schemas']['Session']
export type Share = components['schemas']['Share']
export type Tokens = components['schemas']['Tokens']
export type WebhookEvent = components['schemas']['WebhookEvent']
export type WebhookEventData = components['schemas']['WebhookEventData']
