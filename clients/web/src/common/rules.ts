/** Rules that the page shares with reports: what comes first, and which lists are folded. */

import rules from "../../../../service/onnxplain_server/report/page_rules.json";

export const RULES = rules;
