"""The functions that a read may call, engine by engine: pure ones; nothing that reaches files, settings or sessions.

Lower case, closed lists: what is not here is refused. Standard library alone: the lists are used inside the walls.
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SQLITE_TABLE_FUNCTIONS = frozenset({"json_each", "json_tree", "generate_series"})

SQLITE_FUNCTIONS = _names(
    """
    abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count
    cume_dist date datetime degrees dense_rank exp first_value floor format glob group_concat hex ifnull iif instr
    json json_array json_array_length json_each json_error_position json_extract json_group_array json_group_object
    json_insert json_object json_patch json_quote json_remove json_replace json_set json_tree json_type json_valid
    julianday lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim max median min mod
    nth_value ntile nullif octet_length percent_rank pi pow power printf quote radians random rank replace round
    row_number rtrim sign sin sinh soundex sqrt strftime string_agg substr substring sum tan tanh time timediff total
    trim trunc typeof unhex unicode unistr unixepoch unlikely upper -> ->>
    current_date current_time current_timestamp
    """
)

_AGGREGATES = _names(
    """
    array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp every json_agg
    json_object_agg jsonb_agg jsonb_object_agg max min mode percentile_cont percentile_disc regr_avgx regr_avgy
    regr_count regr_intercept
    regr_r2 regr_slope regr_sxx regr_sxy regr_syy stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value grouping
    """
)

POSTGRES_FUNCTIONS = _AGGREGATES | _names(
    """
    abs acos acosd acosh age array_append array_cat array_dims array_fill array_length array_lower array_ndims
    array_position array_positions array_prepend array_remove array_replace array_to_json array_to_string array_upper
    ascii asin asind asinh atan atan2 atan2d atand atanh bit_count bit_length btrim cardinality cbrt ceil ceiling
    char_length character_length chr coalesce concat concat_ws convert_from convert_to cos cosd cosh cot cotd date
    date_add date_bin date_part date_subtract date_trunc decode degrees div encode erf erfc exp extract factorial
    floor format gcd generate_series greatest initcap int4 int8 float4 float8 numeric text isfinite json_array_elements
    json_array_elements_text json_array_length json_build_array json_build_object json_each json_each_text
    json_extract_path json_extract_path_text json_object json_object_keys json_scalar json_strip_nulls json_typeof
    json_array json_exists json_query json_value json_objectagg json_arrayagg
    jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each
    jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_object jsonb_object_keys jsonb_path_exists
    jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_set
    jsonb_strip_nulls jsonb_typeof justify_days justify_hours justify_interval lcm least left length ln log log10
    lower lpad ltrim make_date make_interval make_time make_timestamp make_timestamptz md5 min_scale mod normalize now
    nullif num_nonnulls num_nulls octet_length overlay parse_ident pi position pow power quote_ident quote_literal
    quote_nullable radians range_merge regexp_count regexp_instr regexp_like regexp_match regexp_matches
    regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right round
    row_to_json rpad rtrim scale sha224 sha256 sha384 sha512 sign sin sind sinh split_part sqrt starts_with
    string_to_array string_to_table strpos substr substring tan tand tanh timezone to_char to_date to_hex to_json
    to_jsonb to_number to_timestamp translate trim trim_array trim_scale trunc unnest upper width_bucket
    statement_timestamp transaction_timestamp localtime localtimestamp current_date current_time
    current_timestamp isempty lower_inc upper_inc lower_inf upper_inf
    """
)

DUCKDB_FUNCTIONS = POSTGRES_FUNCTIONS | _names(
    """
    any_value approx_count_distinct approx_quantile arg_max arg_min argmax argmin array_aggregate array_concat
    array_contains array_distinct array_extract array_filter array_has array_has_all array_has_any array_indexof
    array_slice array_sort array_transform array_unique bin century contains current_localtimestamp datediff date_diff
    date_sub datepart datesub datetrunc dayname dayofmonth dayofweek dayofyear day decade editdist3 element_at ends_with
    entropy epoch epoch_ms epoch_ns epoch_us even first flatten fsum geomean geometric_mean hamming hash histogram hour
    hours ifnull if instr isinf isnan isodow isoyear jaccard jaro_similarity jaro_winkler_similarity json
    json_contains json_extract json_extract_string json_keys json_type json_valid json_group_array json_group_object
    julian kurtosis last last_day len levenshtein list list_aggregate list_append list_cat list_concat list_contains
    list_distinct list_dot_product list_element list_extract list_filter list_has list_has_all list_has_any
    list_indexof list_intersect list_position list_prepend list_reduce list_resize list_reverse list_reverse_sort
    list_slice list_sort list_sum list_transform list_unique list_value list_zip listagg log2 mad make_timestamp_ms
    map map_contains map_entries map_extract map_from_entries map_keys map_values max_by md5_number mean median
    microsecond millennium millisecond min_by minute minutes month monthname months nanosecond nextafter ord prefix
    printf product quantile quantile_cont quantile_disc quarter range regexp_extract regexp_extract_all
    regexp_full_match regexp_matches regexp_split_to_array row roundbankers second seconds
    signbit skewness split sem str_split
    str_split_regex strftime string_split string_split_regex strip_accents strlen strptime struct_extract struct_insert
    struct_pack substring_grapheme suffix sumkahan time_bucket to_base to_base64 to_days to_hours to_microseconds
    to_milliseconds to_minutes to_months to_seconds to_weeks to_years today trunc try_strptime try_cast typeof ucase
    unbin unhex unicode union_extract union_tag union_value url_decode url_encode week weekday weekofyear weeks
    xor year years yearweek cast
    """
)

POSTGRES_SET_RETURNING = _names(
    """
    generate_series unnest json_array_elements json_array_elements_text json_each json_each_text json_object_keys
    jsonb_array_elements jsonb_array_elements_text jsonb_each jsonb_each_text jsonb_object_keys jsonb_path_query
    regexp_matches regexp_split_to_table string_to_table range json_tree
    """
)

CLOCK_FUNCTIONS = _names(
    """
    now current_date current_time current_timestamp localtime localtimestamp clock_timestamp statement_timestamp
    transaction_timestamp today current_localtimestamp
    """
)

WORDS_OF_THE_CLOCK = _names("current_date current_time current_timestamp localtime localtimestamp")

RANDOM_FUNCTIONS = frozenset({"random"})
